package handlers

import (
	"context"
	"strconv"

	"github.com/valyala/fasthttp"

	"flashsale/redisx"
)

// listLog streams every change of the sale's state, times and stock, the oldest first.
func (s *Server) listLog(ctx *fasthttp.RequestCtx, c Call) {
	scan := s.cfg.Sale.ScanLog()
	s.streamList(ctx, c, jsonList("log"), func(l *list) error {
		page, err := scan.Next(context.Background())
		for i := range page {
			l.begin()
			l.text = appendLogEntry(l.text, &page[i])
		}
		return err
	})
}

// appendLogEntry appends an entry as JSON.
func appendLogEntry(dst []byte, e *redisx.LogEntry) []byte {
	dst = appendTime(append(dst, `{"at":`...), e.At)
	dst = append(append(dst, `,"by":"`...), e.By...)
	dst = append(append(append(dst, `","what":"`...), e.What...), '"')
	switch e.What {
	case redisx.LogOpened:
		dst = strconv.AppendInt(append(dst, `,"pieces":`...), e.Pieces, 10)
		dst = appendTimes(append(dst, ','), e.TimesAfter)
	case redisx.LogState:
		dst = append(append(dst, `,"before":"`...), e.StateBefore...)
		dst = append(append(append(dst, `","after":"`...), e.StateAfter...), '"')
	case redisx.LogTimes:
		dst = append(appendTimes(append(dst, `,"before":{`...), e.TimesBefore), '}')
		dst = append(appendTimes(append(dst, `,"after":{`...), e.TimesAfter), '}')
	case redisx.LogStock:
		dst = strconv.AppendInt(append(dst, `,"food_id":`...), e.Food, 10)
		dst = strconv.AppendInt(append(dst, `,"add":`...), e.Add, 10)
		dst = strconv.AppendInt(append(dst, `,"before":`...), e.StockBefore, 10)
		dst = strconv.AppendInt(append(dst, `,"after":`...), e.StockAfter, 10)
	}
	return append(dst, '}')
}

// appendTimes appends the two members of times.
func appendTimes(dst []byte, t redisx.Times) []byte {
	dst = appendTime(append(dst, `"opens_at":`...), t.OpensAt)
	return appendTime(append(dst, `,"closes_at":`...), t.ClosesAt)
}
