package app

import (
	"errors"
	"fmt"
	"strings"

	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/rooms/payments"
	"flashsale/redisx"
)

var paymentsRoom = room{
	name:   "payments",
	read:   func(cfg *config.Config) (any, error) { return readPayments(cfg) },
	again:  func(cfg *config.Config) bool { return cfg.PaymentSecretsFile() != "" },
	readAs: "payment_secrets",
	serve:  (*worker).servePayments,
}

// correctionsRoom has what operators do about held orders.
var correctionsRoom = room{name: "corrections", serve: (*worker).serveCorrections}

// paymentSecrets are the key and the secrets of the provider. A worker knows them from here only.
type paymentSecrets struct {
	Key     string
	Secrets payments.Secrets
}

func readPayments(cfg *config.Config) (s paymentSecrets, err error) {
	if !cfg.Pays() {
		return s, nil
	}
	s.Key, s.Secrets, err = cfg.PaymentSecrets()
	return s, err
}

// servePayments opens payments for held orders and takes the provider's events.
func (w *worker) servePayments() (part, error) {
	var found paymentSecrets
	if err := w.take("payments", &found); err != nil || !w.cfg.Pays() {
		return part{}, err
	}
	c := w.catalog
	if w.cfg.NeedsCurrency() && c.Currency() == "" {
		return part{}, errors.New("-payment is stripe, and the catalogue names no currency")
	}
	foods := c.Foods()
	p := payments.New(payments.Config{Orders: w.held, Sale: w.Sale, Previous: w.pastSales,
		Provider: w.cfg.Provider(found.Key), Secrets: found.Secrets, Session: w.cfg.PaymentSession,
		Currency: c.Currency(), Price: func(food int64) int64 { return foods[food-1].Price },
		Title: titles(c.FoodNames("")), Figures: w.count})
	return part{run: p.Run, routes: handlers.Payments(p)}, nil
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
