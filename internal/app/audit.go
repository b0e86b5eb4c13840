package app

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/rooms/ledger"
	"flashsale/redisx"
)

// The exit codes of flashsale audit.
const (
	auditEqual = iota
	auditDiffers
	auditFailed
)

// audit is the command that compares the orders in Redis with the ledger's database.
func audit(ctx context.Context, p *program, args []string) (code int) {
	ctx, stop := interruptible(ctx)
	defer stop()
	result, err := p.audit(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return auditEqual
	case err != nil:
		fmt.Fprintln(p.stderr, "flashsale audit:", err)
		return auditFailed
	}
	result.Print(p.stdout)
	if !result.Equal() {
		return auditDiffers
	}
	fmt.Fprintln(p.stdout, "for the next sale: flashsale sale close, flashsale sale export -o FILE, "+
		"flashsale sale new")
	return auditEqual
}

// audit reads the settings and compares.
func (p *program) audit(ctx context.Context, args []string) (result *ledger.Audit, err error) {
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
		result, err = compare(ctx, cfg, database, store)
		return err
	})
	return result, err
}

func compare(
	ctx context.Context, cfg *config.Config, database *ledger.Database, store *store,
) (*ledger.Audit, error) {
	c, err := loadCatalogue(ctx, cfg)
	if err != nil {
		return nil, err
	}
	sale, err := redisx.Find(ctx, store.redis, firstStock(c).Catalog, cfg.Sale)
	if err != nil {
		return nil, refusedSale(err, store)
	}
	return ledger.Compare(ctx, ledger.AuditConfig{
		Database: database, Redis: store.redis, Sale: sale, Prices: prices(c),
	})
}

// loadCatalogue reads the catalogue for a command. No user logs in there, so root may have any password.
func loadCatalogue(ctx context.Context, cfg *config.Config) (*catalog.Catalog, error) {
	source := cfg.Catalog
	if source.RootPassword == "" && source.BuiltIn() {
		source.RootPassword = rand.Text()
	}
	return catalog.Load(ctx, source)
}
