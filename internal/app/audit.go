package app

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"flashsale/internal/background"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/export"
	"flashsale/internal/rooms/ledger"
	"flashsale/internal/rooms/threads"
	"flashsale/redisx"
	"flashsale/redisx/held"
)

// The exit codes of flashsale audit.
const (
	auditEqual = iota
	auditDiffers
	auditFailed
)

// audit is the command that compares the orders and the messages in Redis with the ledger's database, and
// the stock with the orders.
func audit(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	results, err := p.audit(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return auditEqual
	case err != nil:
		fmt.Fprintln(p.stderr, "flashsale audit:", err)
		return auditFailed
	}
	for _, result := range results {
		result.Print(p.stdout)
		if !result.Equal() {
			code = auditDiffers
		}
	}
	if code != auditEqual {
		return code
	}
	fmt.Fprintln(p.stdout, "for the next sale: flashsale sale close, flashsale sale export -o FILE, "+
		"flashsale sale new")
	return auditEqual
}

// finding is a part of an audit.
type finding interface {
	Print(out io.Writer)
	Equal() bool
}

// audit reads the settings and compares.
func (p *program) audit(ctx context.Context, args []string) (found []finding, err error) {
	cfg, err := p.settings(args, nil)
	if err != nil {
		return nil, err
	}
	if cfg.Ledger == "" {
		return nil, errors.New("-ledger (LEDGER) is not set; it names the database to compare with")
	}
	cfg.HideSecrets()
	database, err := ledger.NewDatabase(cfg.Ledger)
	if err != nil {
		return nil, err
	}
	defer database.Close()
	err = withStore(ctx, cfg, func(store *store) (err error) {
		command := saleCommand{program: p, cfg: &config.SaleCommand{Config: cfg}, store: store}
		if found, err = command.compare(ctx, database); err == nil && cfg.Chat {
			var messages *ledger.Audit
			messages, err = compareMessages(ctx, cfg, store)
			found = append(found, messages)
		}
		return err
	})
	return found, err
}

// compare compares the orders. The sale in Redis tells whether it holds them, whatever the flags.
func (c *saleCommand) compare(ctx context.Context, database *ledger.Database) (found []finding, err error) {
	marker, err := c.marker(ctx)
	if err != nil {
		return nil, err
	}
	sale, loaded, leave, err := c.running(ctx, marker)
	if err != nil {
		return nil, err
	}
	defer leave()
	orders, err := ledger.Compare(ctx, ledger.AuditConfig{Database: database, Redis: c.store.redis, Sale: sale,
		Prices: prices(loaded), Stock: firstStock(loaded).Stock})
	if found = append(found, orders); err != nil || marker.Hold == 0 {
		return found, err
	}
	refunds := dueRefunds{}
	refunds.currency, refunds.decimals = currencyOf(loaded)
	err = refunds.read(ctx, c.store.redis, marker)
	return append(found, &refunds), err
}

// dueRefunds is the money that is due to be given back.
type dueRefunds struct {
	count    int
	amount   int64
	currency string
	decimals int
}

// Print writes the sum for people.
func (d *dueRefunds) Print(out io.Writer) {
	amount := string(export.AppendMoney(nil, d.amount, d.decimals))
	fmt.Fprintf(out, "refunds due: %d, %s\n", d.count, strings.TrimSpace(amount+" "+d.currency))
}

// Equal returns true: such money is no fault.
func (d *dueRefunds) Equal() bool { return true }

// read adds up what is due of the sale and of those before it.
func (d *dueRefunds) read(ctx context.Context, redis redisx.Config, marker *redisx.Marker) (err error) {
	orders := held.New(redis, marker.Sale, 0)
	background.Beside(orders.Run, func() {
		err = awaitRoom(ctx, orders.Up, startWait)
		for _, sale := range refundSales(marker) {
			for slice := range orders.Slices() {
				if err == nil {
					err = d.add(orders.Of(sale), slice)
				}
			}
		}
	})
	return err
}

// add adds what is due in a slice.
func (d *dueRefunds) add(orders *held.Orders, slice int) error {
	count, amount, after := 0, int64(0), ""
	for {
		page, err := orders.Refunds(slice, false, after, redisx.ScanCount)
		if errors.Is(err, held.ErrNotListed) { // it was given back meanwhile
			count, amount, after = 0, 0, ""
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read the refunds that are due: %w", err)
		}
		for i := range page {
			count, amount, after = count+1, amount+page[i].Amount, page[i].Payment
		}
		if len(page) < redisx.ScanCount {
			d.count, d.amount = d.count+count, d.amount+amount
			return nil
		}
	}
}

func compareMessages(
	ctx context.Context, cfg *config.Config, store *store,
) (result *ledger.Audit, err error) {
	database, err := ledger.NewMessages(cfg.Ledger)
	if err != nil {
		return nil, err
	}
	defer database.Close()
	conversation := threads.New(threadsConfig(cfg, &handover{Redis: store.redis}))
	background.Beside(conversation.Run, func() {
		answers := func() bool { _, err := conversation.Newest(); return err == nil }
		if err = awaitRoom(ctx, answers, startWait); err == nil {
			result, err = ledger.CompareMessages(ctx, database, messageSource{conversation}, cfg.ChatMessages)
		}
	})
	return result, err
}

// loadCatalogue reads the catalogue for a command. No user logs in there, so root may have any password.
func loadCatalogue(ctx context.Context, cfg *config.Config) (*catalog.Catalog, error) {
	source := cfg.Catalog
	if source.RootPassword == "" && source.BuiltIn() {
		source.RootPassword = rand.Text()
	}
	return catalog.Load(ctx, source)
}
