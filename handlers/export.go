package handlers

import (
	"context"
	"fmt"

	"github.com/valyala/fasthttp"

	"flashsale/internal/export"
	"flashsale/redisx"
)

// exportOrders streams every order of the sale in another format. It is not the export that the next sale
// requires: a server cannot know whether its client has kept the file.
func (s *Server) exportOrders(ctx *fasthttp.RequestCtx, c Call, format export.Format) {
	book := &export.Book{Format: format, Sale: s.cfg.Sale.ID(), Name: s.names().Name}
	for _, food := range s.cfg.Catalog.Foods() {
		book.Prices = append(book.Prices, food.Price)
	}
	scan := s.cfg.Sale.ScanOrders()
	kind := listKind{name: "orders", contentType: []byte(format.ContentType()),
		file: fmt.Sprintf("orders-%s.%s", book.Sale, format), begin: string(book.AppendHead(nil))}
	s.streamList(ctx, c, kind, func(l *list) error { return l.nextRows(scan, book) })
}

// nextRows appends the next page of orders, a line for each.
func (l *list) nextRows(scan *redisx.OrderScan, book *export.Book) error {
	page, err := scan.Next(context.Background())
	for i := range page {
		l.text = book.Append(l.text, &page[i])
	}
	l.items += len(page)
	return err
}
