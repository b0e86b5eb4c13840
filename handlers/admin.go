package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/export"
	"flashsale/internal/observe/accesslog"
	"flashsale/internal/serve/goroutines"
	"flashsale/redisx"
)

// listsMax limits the lists of all orders at once: each reads all keys of Redis and remembers every user.
const listsMax = 2

// listKind is what a list is of, and how it is written.
type listKind struct {
	name        string // for the log
	contentType []byte
	file        string // name that it has as a file, "" where it is none
	begin, end  string
}

func jsonList(name string) listKind {
	return listKind{name: name, contentType: contentTypeJSON, begin: "[", end: "]"}
}

// listAllOrders streams every order of the sale, a page of Redis at a time.
func (s *Server) listAllOrders(ctx *fasthttp.RequestCtx, c Call) {
	switch format := export.Format(param(ctx, "format")); format {
	case "":
	case export.CSV, export.JSONLines:
		s.exportOrders(ctx, c, format)
		return
	default:
		reply(ctx, errBadFormat)
		return
	}
	scan, details := s.cfg.Sale.ScanOrders(), wantsDetails(ctx)
	s.streamList(ctx, c, jsonList("orders"), func(l *list) error { return l.nextOrders(scan, details) })
}

// streamList streams a list for root: next appends a page to its text.
func (s *Server) streamList(
	ctx *fasthttp.RequestCtx, c Call, kind listKind, next func(*list) error,
) {
	l := s.newList(kind, next)
	if l == nil {
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
	// The first page is read before the status is sent: a Redis that does not answer is a 503.
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
	ctx.Response.SetBodyStream(l, -1) // fasthttp closes it, whatever becomes of the connection
	streamed = true
}

// sendToEnd sends a list to a client of HTTP/1.0, which knows no chunks: the list ends where the connection
// does. A list that breaks off ends in a reset, so that no client takes the part for the whole.
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

// list is the list of all orders, or of the log, as it is read. When Redis fails on the way, the error ends
// the connection without the last chunk, so that no client takes the part for the whole.
type list struct {
	server *Server
	kind   listKind
	next   func(*list) error // appends the next page to the text
	of     slog.Attr         // the request, if its reply carries an ID
	text   []byte            // not read yet
	err    error             // what follows the text
	items  int
	sent   int64 // bytes that were read
	closed bool
	entry  *accesslog.Record // that is complete when the list is closed, nil for none
}

// newList begins a list, nil where there are listsMax already. It must be closed.
func (s *Server) newList(kind listKind, next func(*list) error) *list {
	if s.lists.Add(1) > listsMax {
		s.lists.Add(-1)
		return nil
	}
	return &list{server: s, kind: kind, next: next, text: []byte(kind.begin)}
}

// Close lets another list begin.
func (l *list) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	l.server.lists.Add(-1)
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
		if fault := recover(); fault != nil { // fasthttp would not log it
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

// begin begins the next item.
func (l *list) begin() {
	if l.items > 0 {
		l.text = append(l.text, ',')
	}
	l.items++
}

// nextOrders appends the next page of orders.
func (l *list) nextOrders(scan *redisx.OrderScan, details bool) error {
	page, err := scan.Next(context.Background())
	for i := range page {
		order := &page[i]
		l.begin()
		l.text = append(l.text, `{"id":`...)
		l.text = l.server.appendOrderID(l.text, order.User)
		l.text = append(l.text, `,"user_id":`...)
		l.text = strconv.AppendUint(l.text, uint64(order.User), 10)
		l.text = l.server.appendItems(l.text, order.Items)
		if details {
			l.text = appendPlaced(l.text, order)
		}
		l.text = append(l.text, '}')
	}
	return err
}
