package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/export"
	"flashsale/internal/rooms/demand"
	"flashsale/redisx"
)

// sumsPage is how many foods are written at a time.
const sumsPage = 1000

// Sums joins what counts refused demand, and the sums by food.
func Sums(d *demand.Demand) Room {
	return func(s *Server) []Route {
		s.demand = d
		return []Route{{"GET", "/admin/sums", s.viewsOrService, slow, s.showSums}}
	}
}

// sumsHead is the part of the sums before the foods.
type sumsHead struct {
	Sale     string       `json:"sale"`
	State    redisx.State `json:"state"`
	Now      string       `json:"now"`
	Opened   *string      `json:"opened_at"` // null before the first opening
	Orders   int64        `json:"orders"`
	Away     int          `json:"slices_away,omitempty"` // the sums are without what they hold
	Currency string       `json:"currency,omitempty"`
	Decimals *int         `json:"decimals,omitempty"`
}

// sumsTotal is the part behind them.
type sumsTotal struct {
	Initial       int64  `json:"initial"`
	Restocked     int64  `json:"restocked"`
	Left          int64  `json:"left"`
	Held          *int64 `json:"held,omitempty"`
	Sold          int64  `json:"sold"`
	Revenue       int64  `json:"revenue"`
	RefusedOrders int64  `json:"refused_orders"`
	RefusedPieces int64  `json:"refused_pieces"`
	Unnamed       int64  `json:"refused_unnamed"` // refused orders of which the foods are not known
}

// showSums streams what the sale has sold, by food and in total.
func (s *Server) showSums(ctx *fasthttp.RequestCtx, c Call) {
	format := export.Format(param(ctx, "format"))
	if format != "" && format != export.CSV {
		reply(ctx, errBadFormat)
		return
	}
	head, sums, err := s.sums(param(ctx, "language"))
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	t := &sums.Total
	begin, err1 := json.Marshal(head)
	end, err2 := json.Marshal(sumsTotal{t.Initial, t.Restocked, t.Left, t.Held, t.Sold, t.Revenue,
		t.RefusedOrders, t.RefusedPieces, sums.Other})
	if err := errors.Join(err1, err2); err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	kind := listKind{name: "sums", contentType: contentTypeJSON,
		begin: string(begin[:len(begin)-1]) + `,"foods":[`, end: `],"total":` + string(end) + "}"}
	if format == export.CSV {
		kind = listKind{name: "sums", contentType: []byte(format.ContentType()),
			file: fmt.Sprintf("sums-%s.csv", head.Sale), begin: string(sums.AppendHead(nil))}
		if param(ctx, "bom") == "1" {
			kind.begin = export.ByteOrderMark + kind.begin
		}
	}
	foods := sums.Foods
	s.streamList(ctx, c, kind, func(l *list) error {
		if len(foods) == 0 {
			return io.EOF
		}
		page := foods[:min(len(foods), sumsPage)]
		foods = foods[len(page):]
		return l.addSums(sums, page, format)
	})
}

// addSums appends some foods.
func (l *list) addSums(sums *export.Sums, page []export.FoodSum, format export.Format) error {
	for i := range page {
		if format == export.CSV {
			l.text = sums.AppendRow(l.text, &page[i])
			continue
		}
		text, err := json.Marshal(&page[i])
		if err != nil {
			return err
		}
		l.begin()
		l.text = append(l.text, text...)
	}
	return nil
}

// sums sums up the sale as it is now.
func (s *Server) sums(language string) (*sumsHead, *export.Sums, error) {
	found, err := s.cfg.Sale.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	log, err := s.cfg.Sale.ScanLog().Next(context.Background())
	if len(log) == 0 && err != nil {
		return nil, nil, err
	}
	if err != nil { // an entry that cannot be read
		slog.Warn("the sums do not know all changes of the sale", "error", err)
	}
	refused, err := s.demand.Read()
	if err != nil {
		return nil, nil, err
	}
	c, opened := s.cfg.Catalog, export.OpenedAt(log)
	names := c.FoodNames(language)
	var foods []export.SumFood
	for _, food := range c.Foods() {
		foods = append(foods, export.SumFood{Name: names(food.ID), Price: food.Price, Stock: food.Stock})
	}
	sums := export.NewSums(foods, &found, s.cfg.Sale.Hold() > 0, opened)
	sums.SetRefused(refused.Orders, refused.Pieces, refused.All, refused.Other)
	head := &sumsHead{Sale: s.cfg.Sale.ID(), State: found.State, Now: stamp(found.Now), Orders: found.Orders,
		Away: found.Slices.Away + found.Slices.Lost, Currency: c.Currency()}
	sums.Currency = head.Currency
	if n, known := catalog.Decimals(head.Currency); known {
		head.Decimals, sums.Decimals = &n, n
	}
	if !opened.IsZero() {
		at := stamp(opened)
		head.Opened = &at
	}
	return head, sums, nil
}
