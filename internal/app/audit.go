package app

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/rooms/ledger"
	"flashsale/internal/rooms/threads"
)

// The exit codes of flashsale audit.
const (
	auditEqual = iota
	auditDiffers
	auditFailed
)

// audit is the command that compares the orders and the messages in Redis with the ledger's database.
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

// audit reads the settings and compares.
func (p *program) audit(ctx context.Context, args []string) (results []*ledger.Audit, err error) {
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
	err = withStore(ctx, cfg, func(store *store) error {
		orders, err := p.compare(ctx, cfg, database, store)
		results = append(results, orders)
		if err == nil && cfg.Chat {
			var messages *ledger.Audit
			messages, err = compareMessages(ctx, cfg, store)
			results = append(results, messages)
		}
		return err
	})
	return results, err
}

// compare compares the orders. The sale in Redis tells whether it holds them, whatever the flags.
func (p *program) compare(
	ctx context.Context, cfg *config.Config, database *ledger.Database, store *store,
) (*ledger.Audit, error) {
	command := saleCommand{program: p, cfg: &config.SaleCommand{Config: cfg}, store: store}
	marker, err := command.marker(ctx)
	if err != nil {
		return nil, err
	}
	sale, loaded, leave, err := command.running(ctx, marker)
	if err != nil {
		return nil, err
	}
	defer leave()
	return ledger.Compare(ctx, ledger.AuditConfig{
		Database: database, Redis: store.redis, Sale: sale, Prices: prices(loaded),
	})
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
		for begin := time.Now(); time.Since(begin) < startWait; time.Sleep(followLook) {
			if _, err := conversation.Newest(); err == nil {
				break
			}
		}
		result, err = ledger.CompareMessages(ctx, database, messageSource{conversation}, cfg.ChatMessages)
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
