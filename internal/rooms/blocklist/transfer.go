package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/background"
)

const (
	stallMax   = time.Minute // for leastBytes, after which a transfer counts as broken
	leastBytes = 1 << 20     // 325 MB at this rate take over five hours
	breaksMax  = 10          // times in a row that a transfer breaks within leastBytes
	pauseMin   = time.Second // before a transfer is resumed for the first time
	pauseMax   = time.Minute // the longest pause
)

// errOtherVersion is the outcome of resuming a transfer of a list that has changed meanwhile.
var errOtherVersion = errors.New("the list has changed during its transfer")

// transfer reads a URL. Where the connection breaks it goes on from there, as long as the source has the
// same version.
type transfer struct {
	source  *webSource
	ctx     context.Context
	version Version
	bytes   int64 // -1 where the length is not known
	at      int64
	came    int           // bytes since the last leastBytes were complete
	waited  time.Duration // for them, since the last break
	breaks  int           // since then
	body    io.ReadCloser
	cancel  context.CancelFunc // of the request under way
	stalled *time.Timer        // cancels it
}

// request begins a GET and takes its body.
func (t *transfer) request(header http.Header) (*http.Response, error) {
	ctx, cancel := context.WithCancel(t.ctx)
	t.cancel = cancel
	reply, err := t.source.ask(ctx, http.MethodGet, header)
	if err != nil {
		return nil, err
	}
	t.body, t.stalled, t.waited = reply.Body, time.AfterFunc(t.source.stallMax, cancel), 0
	return reply, nil
}

// Close ends the request under way.
func (t *transfer) Close() error {
	if t.cancel != nil {
		t.cancel()
	}
	if t.body == nil {
		return nil
	}
	t.stalled.Stop()
	err := t.body.Close()
	t.body = nil
	return err
}

// Read reads on, over any number of connections.
func (t *transfer) Read(p []byte) (int, error) {
	for {
		n, err := t.readBody(p)
		t.at += int64(n)
		if n > 0 {
			return n, nil
		}
		if errors.Is(err, io.EOF) && (t.bytes < 0 || t.at == t.bytes) {
			return 0, io.EOF
		}
		if err == nil {
			continue
		}
		t.Close()
		if err := t.resume(err); err != nil {
			return 0, err
		}
	}
}

// readBody waits for the next bytes. The time in which the caller works does not count.
func (t *transfer) readBody(p []byte) (int, error) {
	start := time.Now()
	t.stalled.Reset(max(t.source.stallMax-t.waited, 0))
	n, err := t.body.Read(p)
	t.stalled.Stop()
	t.waited += time.Since(start)
	if t.came += n; t.came >= leastBytes {
		t.came, t.waited, t.breaks = 0, 0, 0
	}
	return n, err
}

// resume goes on from where the transfer broke, for a reason. It waits longer from break to break.
func (t *transfer) resume(reason error) error {
	for failures := 1; ; failures++ {
		if t.breaks++; t.breaks > breaksMax {
			return fmt.Errorf("the transfer of the list breaks again and again: %w", reason)
		}
		slog.Warn("the transfer of the blocklist has broken and is resumed", "bytes", t.at, "of", t.bytes,
			"error", reason)
		if !background.Pause(t.ctx, background.Delay(failures, t.source.pauseMin, t.source.pauseMax)) {
			return t.ctx.Err()
		}
		retry, err := t.askRest()
		if !retry {
			return err
		}
		t.Close()
		reason = err
	}
}

// askRest asks for the rest. It reports whether another attempt may succeed.
func (t *transfer) askRest() (retry bool, err error) {
	same := t.version.ETag
	if strings.HasPrefix(same, "W/") || same == "" { // a weak one proves nothing about single bytes
		same = t.version.Modified
	}
	if same == "" {
		return false, errors.New("the transfer of the list broke, and its source names no version to go on with")
	}
	reply, err := t.request(http.Header{"Range": {fmt.Sprintf("bytes=%d-", t.at)}, "If-Range": {same}})
	switch {
	case err != nil:
		return true, err
	case reply.StatusCode >= http.StatusInternalServerError:
		return true, fmt.Errorf("%v answers %s", t.source, reply.Status)
	case reply.StatusCode == http.StatusOK:
		return false, errOtherVersion
	case reply.StatusCode != http.StatusPartialContent:
		return false, fmt.Errorf("%v answers %s", t.source, reply.Status)
	}
	return false, t.checkRest(reply)
}

// checkRest checks that a reply goes on where the first one broke, in the same list: some servers ignore
// If-Range.
func (t *transfer) checkRest(reply *http.Response) error {
	span := reply.Header.Get("Content-Range")
	at, ok := strings.CutPrefix(span, fmt.Sprintf("bytes %d-", t.at))
	if !ok {
		return fmt.Errorf("%v sends %q where byte %d was asked for", t.source, span, t.at)
	}
	version := t.source.version(reply)
	if version.Modified == "" && version.ETag != "" { // one of them is enough here
		version.Modified = t.version.Modified
	}
	_, total, _ := strings.Cut(at, "/")
	if version != t.version || t.bytes >= 0 && total != "*" && total != strconv.FormatInt(t.bytes, 10) {
		return errOtherVersion
	}
	return nil
}
