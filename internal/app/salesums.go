package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/export"
	"flashsale/internal/rooms/demand"
	"flashsale/redisx"
)

// printSums prints what the sale has sold, by food and in total.
func (c *saleCommand) printSums(ctx context.Context, marker *redisx.Marker) error {
	sale, loaded, leave, err := c.running(ctx, marker)
	if err != nil {
		return err
	}
	defer leave()
	found, err := sale.Snapshot()
	if err != nil {
		return err
	}
	log, err := sale.ScanLog().Next(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	refused, err := readDemand(ctx, &opening{handover: handover{Redis: c.store.redis, Sale: marker.Sale},
		catalog: loaded})
	if err != nil {
		return err
	}
	names := loaded.FoodNames(c.cfg.Language)
	var foods []export.SumFood
	for _, food := range loaded.Foods() {
		foods = append(foods, export.SumFood{Name: names(food.ID), Price: food.Price, Stock: food.Stock})
	}
	sums := export.NewSums(foods, &found, marker.Hold > 0, export.OpenedAt(log))
	sums.SetRefused(refused.Orders, refused.Pieces, refused.All, refused.Other)
	sums.Currency, sums.Decimals = currencyOf(loaded)
	return printTable(c.stdout, sums)
}

// readDemand reads the refusals of a sale once there is a connection.
func readDemand(ctx context.Context, o *opening) (r demand.Refusals, err error) {
	d := demand.New(demandConfig(o))
	background.Beside(d.Run, func() {
		if err = awaitRoom(ctx, d.Up, startWait); err == nil {
			r, err = d.Read()
		}
	})
	return r, err
}

// printTable prints the sums in columns.
func printTable(out io.Writer, sums *export.Sums) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	held, sold := "", "sold"
	if sums.Holds {
		held, sold = "held\t", "paid"
	}
	fmt.Fprintf(w, "food\tinitial\trestocked\tleft\t%s%s\trevenue\tsold out after\trefused orders\t"+
		"refused pieces\t  name\n", held, sold)
	line := func(id, name string, f *export.FoodSum) {
		after := "-"
		if f.SoldOutAfter != nil {
			after = (time.Duration(*f.SoldOutAfter) * time.Millisecond).String()
		}
		amount := string(export.AppendMoney(nil, f.Revenue, sums.Decimals))
		revenue := strings.TrimSpace(amount + " " + sums.Currency)
		if f.Held != nil {
			held = fmt.Sprintf("%d\t", *f.Held)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s%d\t%s\t%s\t%d\t%d\t  %s\n", id, f.Initial, f.Restocked, f.Left, held,
			f.Sold, revenue, after, f.RefusedOrders, f.RefusedPieces, name)
	}
	for i := range sums.Foods {
		f := &sums.Foods[i]
		line(fmt.Sprint(f.ID), f.Name, f)
	}
	line("all", "", &sums.Total)
	if err := w.Flush(); err != nil {
		return err
	}
	if sums.Other > 0 {
		fmt.Fprintf(out, "of %d refused orders the foods are not known\n", sums.Other)
	}
	return nil
}
