package handlers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
)

const rootUser = 1

// listAllOrders streams every order of the sale to root, a page of Redis at a time.
func (s *Server) listAllOrders(ctx *fasthttp.RequestCtx) {
	user, ok := s.user(ctx)
	if !ok {
		return
	}
	if user != rootUser {
		reply(ctx, errInvalidToken)
		return
	}
	// The first page is read before the status is sent: a Redis that does not answer is a 503.
	list := &orderList{server: s, scan: s.cfg.Sale.ScanOrders(), text: []byte("[")}
	if err := list.more(); err != nil && !errors.Is(err, io.EOF) {
		replyOutcome(ctx, err)
		return
	}
	if ctx.IsHead() { // fasthttp would end a stream that it does not send
		ctx.Response.Header.SetContentTypeBytes(contentTypeJSON)
		return
	}
	if !ctx.Request.Header.IsHTTP11() { // HTTP/1.0 knows no chunks: the whole list at once
		body, err := io.ReadAll(list)
		if err != nil {
			replyOutcome(ctx, err)
			return
		}
		replyRaw(ctx, body)
		return
	}
	ctx.Response.Header.SetContentTypeBytes(contentTypeJSON)
	ctx.Response.SetBodyStream(list, -1)
}

// orderList is the JSON list of all orders as it is read. When Redis fails on the way, the error ends the
// connection without the last chunk, so that no client takes the part for the whole.
type orderList struct {
	server *Server
	scan   *redisx.OrderScan
	text   []byte // what is not read yet
	err    error  // what follows the text
	orders int
}

func (l *orderList) Read(p []byte) (int, error) {
	for len(l.text) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		if err := l.more(); err != nil && !errors.Is(err, io.EOF) {
			slog.Error("the list of all orders breaks off", "orders", l.orders, "error", err)
		}
	}
	n := copy(p, l.text)
	l.text = l.text[n:]
	return n, nil
}

// more appends the next page to the text.
func (l *orderList) more() error {
	page, err := l.scan.Next(context.Background())
	for _, order := range page {
		if l.orders > 0 {
			l.text = append(l.text, ',')
		}
		l.orders++
		l.text = append(l.text, `{"id":`...)
		l.text = l.server.appendOrderID(l.text, order.User)
		l.text = append(l.text, `,"user_id":`...)
		l.text = strconv.AppendUint(l.text, uint64(order.User), 10)
		l.text = l.server.appendItems(l.text, order.Items)
		l.text = append(l.text, '}')
	}
	if errors.Is(err, io.EOF) {
		l.text = append(l.text, ']')
	}
	l.err = err
	return err
}
