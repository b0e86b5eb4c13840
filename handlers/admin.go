package handlers

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/observe/accesslog"
	"flashsale/internal/serve/goroutines"
)

// listsMax is how many lists operators may read at once: each scans all keys of Redis and remembers every
// user. Half of them is for one operator, for root, and for all programs: nobody may keep the others out.
const (
	listsMax = 4
	listsOwn = listsMax / 2
)

// readers counts calls under way, such as lists, by who makes them. It is safe for concurrent use.
type readers struct {
	allMax, ownMax int

	mu  sync.Mutex
	own map[string]int // by actorOf
	all int
}

// enter takes a place; it reports whether there is one.
func (l *readers) enter(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.allMax || l.own[who] >= l.ownMax {
		return false
	}
	if l.own == nil {
		l.own = map[string]int{}
	}
	l.own[who]++
	l.all++
	return true
}

func (l *readers) leave(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.own[who]--; l.own[who] == 0 {
		delete(l.own, who)
	}
}

// listKind describes a kind of list and its format.
type listKind struct {
	name        string // for the log
	contentType []byte
	file        string // file name of a download, "" for none
	begin, end  string
	close       func() // is called when the list has ended; nil for nothing to do
}

func jsonList(name string) listKind {
	return listKind{name: name, contentType: contentTypeJSON, begin: "[", end: "]"}
}

// streamList sends a list to root page by page. next appends one page to the list's text.
func (s *Server) streamList(
	ctx *fasthttp.RequestCtx, c Call, kind listKind, next func(*list) error,
) {
	l := s.newList(actorOf(ctx), kind, next)
	if l == nil {
		if kind.close != nil {
			kind.close()
		}
		reply(ctx, errTooManyRequests)
		return
	}
	c.answer.list = l
	if s.cfg.AccessLog != nil || s.answersID(ctx) {
		l.of = s.identity(ctx)
	}
	streamed := false
	defer func() {
		if !streamed {
			l.Close()
		}
	}()
	// The first page is read before the status is sent: if Redis does not answer, the status can be 503.
	if err := l.more(); err != nil && !errors.Is(err, io.EOF) {
		s.replyOutcome(ctx, err)
		return
	}
	ctx.Response.Header.SetContentTypeBytes(kind.contentType)
	if kind.file != "" {
		ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="`+kind.file+`"`)
	}
	if ctx.IsHead() { // fasthttp would end a stream that it does not send
		return
	}
	if !ctx.Request.Header.IsHTTP11() {
		sendToEnd(ctx, l)
		return
	}
	ctx.Response.SetBodyStream(l, -1) // fasthttp closes l, even when the connection breaks
	streamed = true
}

// sendToEnd sends a list to an HTTP/1.0 client, which cannot read chunks: the list ends with the connection.
// After a fault the connection is reset, so that the client does not take the part for the whole list.
func sendToEnd(ctx *fasthttp.RequestCtx, l *list) {
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {}) // fasthttp then only closes the connection
	head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: %s\r\nConnection: close\r\n",
		fasthttp.AppendHTTPDate(nil, time.Now()), l.kind.contentType)
	for _, name := range []string{requestIDHeader, fasthttp.HeaderCacheControl,
		fasthttp.HeaderXContentTypeOptions, fasthttp.HeaderContentDisposition} {
		if value := ctx.Response.Header.Peek(name); len(value) > 0 {
			head = fmt.Appendf(head, "%s: %s\r\n", name, value)
		}
	}
	head = append(head, "\r\n"...)
	c := ctx.Conn()
	if _, err := c.Write(head); err != nil {
		return // the client has gone
	}
	if _, err := io.Copy(c, l); err != nil {
		if c, ok := c.(*goroutines.Conn); ok {
			c.Abort()
		}
	}
}

// list is a list for root that is being sent: orders or log. When Redis fails on the way, the connection
// ends without the last chunk, so that the client does not take the part for the whole list.
type list struct {
	server *Server
	kind   listKind
	who    string            // reads it, see readers
	next   func(*list) error // appends the next page to the text
	of     slog.Attr         // names the request in the log, if its reply carries an ID
	text   []byte            // not read yet
	err    error             // what Read returns after the text
	items  int
	sent   int64 // bytes that Read has returned
	closed bool
	entry  *accesslog.Record // access log line, which Close completes; nil for none
}

// newList begins a list; it returns nil where too many are under way. The caller must close the list.
func (s *Server) newList(who string, kind listKind, next func(*list) error) *list {
	if !s.lists.enter(who) {
		return nil
	}
	return &list{server: s, kind: kind, who: who, next: next, text: []byte(kind.begin)}
}

// Close frees the list's place.
func (l *list) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	l.server.lists.leave(l.who)
	if l.kind.close != nil {
		l.kind.close()
	}
	if l.entry != nil {
		now := time.Now()
		l.entry.Took += now.Sub(l.entry.Time)
		l.entry.Time, l.entry.BytesOut = now, l.sent
		l.server.cfg.AccessLog.Add(l.entry)
	}
	return nil
}

func (l *list) Read(p []byte) (n int, err error) {
	defer func() {
		if fault := recover(); fault != nil { // fasthttp does not log it
			slog.Error("a list for root failed", "list", l.kind.name, "fault", fault, "stack",
				string(debug.Stack()), l.of)
			n, err = 0, io.ErrUnexpectedEOF
		}
	}()
	for len(l.text) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		if err := l.more(); err != nil && !errors.Is(err, io.EOF) {
			if lists := l.server.brokenLists.Due(time.Now()); lists > 0 {
				slog.Error("a list for root breaks off", "list", l.kind.name, "items", l.items, "lists", lists,
					"error", err, l.of)
			}
		}
	}
	n = copy(p, l.text)
	l.text = l.text[n:]
	l.sent += int64(n)
	return n, nil
}

// more appends the next page to the text.
func (l *list) more() error {
	l.err = l.next(l)
	if errors.Is(l.err, io.EOF) {
		l.text = append(l.text, l.kind.end...)
	}
	return l.err
}

// begin separates the next item from the one before.
func (l *list) begin() {
	if l.items > 0 {
		l.text = append(l.text, ',')
	}
	l.items++
}
