package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"flashsale/internal/background"
	"flashsale/internal/config"
	"flashsale/internal/credentials"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/sessions"
)

// accountRefusals are the errors of commands that name an account which cannot be changed.
var accountRefusals = []error{accounts.ErrNoUser, accounts.ErrClosed}

// runAccount is the command that looks after accounts from a terminal.
func runAccount(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	cfg, err := config.ParseAccount(args, p.stdout)
	if err == nil {
		err = p.onStore(ctx, cfg.Config, func(store *store) error {
			// Redis must remember the end of tokens for as long as the servers' -token-ttl, which may be longer
			// than this command's.
			ended := sessions.New(sessions.Config{Redis: store.redis.Room(sessions.HashTag),
				TokenTTL: config.TokenTTLMax})
			room := accounts.Config{Redis: store.redis.Spread(), Hash: credentials.Hash,
				EndSessions: ofUser(ended.EndAll), NoteEnd: ofUser(ended.NoteAll)}
			background.Beside(ended.Run, func() {
				err = withAccounts(ctx, room, func(a *accounts.Accounts) error {
					if err := awaitRoom(ctx, ended.Up, store.redis.Timeout); err != nil {
						return err
					}
					return (&accountCommand{p, cfg, a}).run(ctx)
				})
			})
			return err
		})
	}
	return p.exitCode("account", err, accountRefusals)
}

// accountCommand is one run of flashsale account.
type accountCommand struct {
	*program
	cfg      *config.AccountCommand
	accounts *accounts.Accounts
}

func (c *accountCommand) run(ctx context.Context) error {
	if c.cfg.Verb == config.AccountList {
		return c.list(ctx)
	}
	user, err := c.accounts.Resolve(c.cfg.User)
	if errors.Is(err, accounts.ErrNoUser) {
		return notRegistered(c.cfg.User)
	}
	if err != nil {
		return err
	}
	log := slog.With("operator", terminal, "user_id", user.ID)
	if c.cfg.Verb == config.AccountClose {
		if err := c.accounts.Close(user.ID); err != nil {
			return err
		}
		log.Info("the account of a user is closed")
		_, err := fmt.Fprintf(c.stdout, "the account of %s (id %d) is closed\n", user.Name, user.ID)
		return err
	}
	password := rand.Text()
	if err := c.accounts.Reset(user.ID, []byte(password)); err != nil {
		return err
	}
	log.Info("the password of a user is reset")
	_, err = fmt.Fprintf(c.stdout, "the password of %s (id %d) is now %s\n", user.Name, user.ID, password)
	return err
}

// notRegistered is the error for a user who may be one of the catalogue: this command does not read it.
func notRegistered(user string) error {
	return fmt.Errorf("%w among the people who have registered: %s", accounts.ErrNoUser, user)
}

// list prints one account, or all from an id on.
func (c *accountCommand) list(ctx context.Context) error {
	if c.cfg.Name != "" {
		found, err := c.accounts.Search(c.cfg.Name)
		if err == nil && len(found) == 0 {
			err = notRegistered(c.cfg.Name)
		}
		if err != nil {
			return err
		}
		return c.print(found)
	}
	found := false
	for after := uint32(c.cfg.After); ctx.Err() == nil; {
		page, next, err := c.accounts.List(after, accounts.ListMax)
		if err == nil {
			err = c.print(page)
		}
		if err != nil {
			return err
		}
		found = found || len(page) > 0
		if next == 0 && !found {
			return c.tellNone()
		}
		if next == 0 {
			return nil
		}
		after = next
	}
	return ctx.Err()
}

// tellNone tells a person why the list is empty. A program that reads the list gets no line.
func (c *accountCommand) tellNone() error {
	text := "nobody has registered"
	if c.cfg.After > 0 {
		text += fmt.Sprintf(" with an id above %d", c.cfg.After)
	}
	_, err := fmt.Fprintln(c.stderr, text)
	return err
}

// print prints a line for each account.
func (c *accountCommand) print(page []accounts.Registered) error {
	var text strings.Builder
	for _, u := range page {
		state := "open"
		if !u.Closed.IsZero() {
			state = "closed " + momentText(u.Closed)
		}
		email := strings.Map(visible, u.Email)
		fmt.Fprintf(&text, "%d\t%s\t%s\t%s\t%s\n", u.ID, u.Name, email, momentText(u.Created), state)
	}
	_, err := fmt.Fprint(c.stdout, text.String())
	return err
}

// visible replaces what a terminal could take for a command. No name has such characters.
func visible(c rune) rune {
	if unicode.IsGraphic(c) {
		return c
	}
	return unicode.ReplacementChar
}

// awaitRoom waits until Redis answers a room, for at most the timeout of a call.
func awaitRoom(ctx context.Context, up func() bool, timeout time.Duration) error {
	for begin := time.Now(); !up() && time.Since(begin) < timeout; {
		if !background.Pause(ctx, roomPause) {
			return ctx.Err()
		}
	}
	return nil
}

const roomPause = 10 * time.Millisecond // between two checks whether Redis answers

// withAccounts lets a command use the accounts. Without a function for them there are no users of the
// catalogue.
func withAccounts(
	ctx context.Context, cfg accounts.Config, use func(*accounts.Accounts) error,
) (err error) {
	cfg.UserOf = func([]byte) (uint32, bool) { return 0, false }
	if cfg.NameOf == nil {
		cfg.NameOf = func(uint32) []byte { return nil }
	}
	a := accounts.New(cfg)
	background.Beside(a.Run, func() {
		if err = awaitRoom(ctx, a.Up, cfg.Redis[0].Timeout); err == nil {
			err = use(a)
		}
	})
	return err
}
