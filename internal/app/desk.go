package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"flashsale/handlers"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

const (
	deskLimit    = 5 * time.Minute // for an answer: many orders are exported and moved
	questionsMax = 4096            // bytes of a question
)

// desk is where workers ask the supervisor about the next sale: only the supervisor has the source of the
// catalogue and the data folder. It is a socket without a name in the file system. It takes questions from
// processes of its own user only, one at a time.
type desk struct {
	listener *net.UnixListener
	busy     sync.Mutex
}

// grant answers a wish.
type grant func(context.Context, handlers.NextWish) (handlers.NextPlan, error)

// answer is what the desk tells: a plan or why there is none.
type answer struct {
	Plan   handlers.NextPlan
	Kind   string // key of refusalKinds, "" for none
	Reason string // of a handlers.NextFailedError, "" for none
}

// refusalKinds are the errors that a worker gets as they are.
var refusalKinds = map[string]error{
	"not closed": turnover.ErrNotClosed, "ledger behind": turnover.ErrLedgerBehind,
	"over": turnover.ErrOverAlready, "other sale": redisx.ErrOtherSale, "clocks": redisx.ErrClocksDiffer,
	"busy": handlers.ErrNextBusy, unavailable: redisx.ErrUnavailable,
}

// unavailable is the kind of an outcome that is not known.
const unavailable = "unavailable"

func openDesk() (*desk, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@flashsale-" + rand.Text(), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the workers: %w", err)
	}
	return &desk{listener: listener}, nil
}

func (d *desk) address() string { return d.listener.Addr().String() }

// run answers with what act finds, until ctx ends.
func (d *desk) run(ctx context.Context, act grant) {
	var asked sync.WaitGroup
	defer asked.Wait()
	defer context.AfterFunc(ctx, func() { d.listener.Close() })()
	for {
		conn, err := d.listener.AcceptUnix()
		if err != nil {
			if ctx.Err() == nil {
				slog.Error("workers cannot ask about the next sale any more", "error", err)
			}
			return
		}
		asked.Go(func() {
			defer conn.Close()
			d.serve(ctx, conn, act)
		})
	}
}

// serve answers one question.
func (d *desk) serve(ctx context.Context, conn *net.UnixConn, act grant) {
	_ = conn.SetDeadline(time.Now().Add(deskLimit)) // a connection of this machine has deadlines
	var wish handlers.NextWish
	if !isOwn(conn) || json.NewDecoder(io.LimitReader(conn, questionsMax)).Decode(&wish) != nil {
		return
	}
	var told answer
	err := error(handlers.ErrNextBusy)
	if d.busy.TryLock() {
		limit, stop := context.WithTimeout(ctx, deskLimit)
		told.Plan, err = act(limit, wish)
		stop()
		d.busy.Unlock()
	}
	told.refuse(err)
	if err := json.NewEncoder(conn).Encode(told); err != nil {
		slog.Warn("cannot answer a worker", "error", err)
	}
}

// refuse notes why there is no plan.
func (a *answer) refuse(err error) {
	if failed := (*handlers.NextFailedError)(nil); errors.As(err, &failed) {
		a.Reason = failed.Reason
		return
	}
	for kind, known := range refusalKinds {
		if errors.Is(err, known) {
			a.Kind = kind
		}
	}
	if err != nil && a.Kind == "" {
		slog.Error("the next sale may not be open yet; the same call completes it", "error", err)
		a.Kind = unavailable
	}
}

// isOwn reports whether a process of the same user asks.
func isOwn(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	own := false
	err = raw.Control(func(fd uintptr) {
		peer, wrong := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = wrong == nil && int(peer.Uid) == os.Geteuid()
	})
	return own && err == nil
}

// askDesk asks the supervisor at this address.
func askDesk(address string, wish handlers.NextWish) (handlers.NextPlan, error) {
	conn, err := net.DialTimeout("unix", address, startWait)
	if err != nil {
		return handlers.NextPlan{}, fmt.Errorf("%w: %w", redisx.ErrUnavailable, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(deskLimit)) // a connection of this machine has deadlines
	var told answer
	if err = json.NewEncoder(conn).Encode(wish); err == nil {
		err = json.NewDecoder(conn).Decode(&told)
	}
	switch {
	case err != nil: // what it does may be done all the same: it can be asked again
		return handlers.NextPlan{}, fmt.Errorf("%w: %w", redisx.ErrUnavailable, err)
	case refusalKinds[told.Kind] != nil:
		return handlers.NextPlan{}, refusalKinds[told.Kind]
	case told.Reason != "":
		return handlers.NextPlan{}, &handlers.NextFailedError{Reason: told.Reason}
	}
	return told.Plan, nil
}
