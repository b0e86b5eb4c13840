package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"flashsale/handlers"
	"flashsale/internal/catalog"
	"flashsale/internal/config"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/payments"
	"flashsale/redisx"
	"flashsale/redisx/held"
)

var paymentsRoom = room{
	name:   "payments",
	read:   func(cfg *config.Config) (any, error) { return readPayments(cfg) },
	again:  func(cfg *config.Config) bool { return cfg.PaymentSecretsFile() != "" },
	readAs: "payment_secrets",
	keep:   (*supervisor).keepPayments,
	serve:  (*worker).servePayments,
}

// correctionsRoom has what operators do about held orders.
var correctionsRoom = room{name: "corrections", serve: (*worker).serveCorrections}

// paymentSecrets are the key and the secrets of the provider. A worker knows them from here only.
type paymentSecrets struct {
	Key     string
	File    string // where SIGHUP finds the secrets, "" for nowhere
	Secrets payments.Secrets
}

func readPayments(cfg *config.Config) (s paymentSecrets, err error) {
	if !cfg.Pays() {
		return s, nil
	}
	s.File = cfg.PaymentSecretsFile()
	s.Key, s.Secrets, err = cfg.PaymentSecrets()
	return s, err
}

// checkPrices refuses a catalogue with prices that the provider cannot charge.
func checkPrices(cfg *config.Config, c *catalog.Catalog) error {
	if !cfg.NeedsCurrency() {
		return nil
	}
	if c.Currency() == "" {
		return errors.New("-payment is stripe, and the catalogue names no currency")
	}
	for i, food := range c.Foods() {
		if _, err := payments.ToStripe(c.Currency(), food.Price); err != nil {
			return fmt.Errorf("-payment is stripe, and food %d costs %w", i+1, err)
		}
	}
	return nil
}

// keepPayments counts what is due to be given back.
func (s *supervisor) keepPayments(context.Context) (part, error) {
	o := s.serving()
	if o.Redis.Hold == 0 {
		return part{}, nil
	}
	orders := held.New(o.Redis, o.Sale, len(o.catalog.Foods())) // its calls about refunds take any sale
	return part{run: orders.Run, figures: func(scrape *ops.Scrape) {
		if scrape.RedisUp() {
			s.showRefunds(scrape, orders)
		}
	}}, nil
}

// showRefunds sets the figures of refunds, of this sale and of those before it.
func (s *supervisor) showRefunds(scrape *ops.Scrape, orders *held.Orders) {
	sales := []string{s.serving().Sale}
	if marker, err := s.follower.Marker(); err == nil {
		sales = refundSales(marker)
	}
	due, age := 0, 0.0
	for _, sale := range sales {
		for slice := range orders.Slices() {
			count, oldest, err := orders.Of(sale).Due(slice)
			if err != nil {
				return // no figure is better than a wrong one
			}
			if due += count; count > 0 {
				age = max(age, scrape.Now.Sub(oldest).Seconds())
			}
		}
	}
	scrape.Set(figures.RefundsDue, float64(due))
	scrape.Set(figures.RefundsDueFor, age)
}

// refundSales are the sales whose refunds are listed.
func refundSales(marker *redisx.Marker) []string {
	sales := append([]string{marker.Sale}, marker.Previous...)
	return sales[:min(len(sales), handlers.RefundSalesMax)]
}

// servePayments opens payments for held orders and takes the provider's events.
func (w *worker) servePayments() (part, error) {
	var found paymentSecrets
	if err := w.take("payments", &found); err != nil || !w.cfg.Pays() {
		return part{}, err
	}
	c := w.catalog
	foods := c.Foods()
	p := payments.New(payments.Config{Orders: w.held, Sale: w.Sale, Previous: w.pastSales,
		Provider: w.cfg.Provider(found.Key), Secrets: found.Secrets, Session: w.cfg.PaymentSession,
		Currency: c.Currency(), Price: func(food int64) int64 { return foods[food-1].Price },
		Title: titles(c.FoodNames("")), Figures: w.count})
	// A worker that was replaced takes the last events of its connections by the secrets of the new one. The
	// supervisor has logged why a file cannot be read.
	retired := func() {
		if found.File == "" {
			return
		}
		if fresh, err := config.ReadPaymentSecrets(found.File, found.Secrets.Stripe); err == nil {
			p.Use(fresh)
		}
	}
	return part{run: p.Run, routes: handlers.Payments(p), retired: retired}, nil
}

const titleMax = 200 // characters

// titles makes the text that a buyer reads at the provider: what was ordered, "" where foods have no names.
func titles(name func(food int64) string) func([]redisx.Item) string {
	return func(items []redisx.Item) string {
		var parts []string
		for _, item := range items {
			if name(item.Food) == "" {
				return ""
			}
			parts = append(parts, fmt.Sprintf("%d × %s", item.Count, name(item.Food)))
		}
		text := []rune(strings.Join(parts, ", "))
		return string(text[:min(len(text), titleMax)])
	}
}

// serveCorrections serves what operators do about held orders and money.
func (w *worker) serveCorrections() (part, error) {
	if w.held == nil {
		return part{}, nil
	}
	return part{routes: handlers.Corrections(w.held)}, nil
}
