package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"flashsale/internal/rooms/payments"
	"flashsale/redisx"
)

const (
	stripe     = "stripe"
	stripeAt   = "stripe+"
	secretMark = "whsec_" // a list of secrets begins with it, as all of Stripe's and of Standard Webhooks do
)

type paymentFlags struct {
	PaymentReturn  string // URL of the page to which the buyer comes back
	PaymentSession time.Duration

	provider, key, secrets string
}

func (c *paymentFlags) add(f *Flags, redis *redisx.Config) {
	f.Group("Payments (of held orders, see -hold)")
	f.Text(&c.provider, "payment", "", "`provider` of payments: stripe, or the URL of a program of the shop; "+
		"stripe+URL is Stripe's API at another address")
	f.Secret(&c.key, "payment-key", "", "`key` of the server at the provider: Stripe's secret API key, or "+
		"what the program gets as Authorization: Bearer; better set in the environment")
	f.Secret(&c.secrets, "payment-secrets", "", "`file` with the secrets that sign the provider's events, "+
		"one a line, or the secrets themselves, whsec_...,whsec_...; while one replaces another, both count; "+
		"SIGHUP reads the file again")
	f.Text(&c.PaymentReturn, "payment-return", "",
		"`URL` of the page to which the buyer comes back from Stripe")
	f.Time(&c.PaymentSession, "payment-session", payments.StripeLeast, time.Minute, payments.StripeMost,
		"`time` that a payment may take; the first one of an order extends its hold to this time; at Stripe at "+
			"least 30m")
	f.needs([]string{"payment"}, "payment-key", "payment-secrets", "payment-return", "payment-session")
	f.Check(func() error {
		if c.provider == "" {
			return nil
		}
		return c.check(f, redis.Hold)
	})
}

// check refuses a provider that could not work.
func (c *paymentFlags) check(f *Flags, hold time.Duration) error {
	address, isStripe := c.providerURL()
	switch {
	case hold == 0:
		return fmt.Errorf("%s is set without -hold (HOLD): only held orders are paid", f.source("payment"))
	case c.provider != stripe && !isURL(address):
		return fmt.Errorf("%s is %q; it must be stripe or an http or https URL", f.source("payment"), c.provider)
	case isStripe && !isURL(c.PaymentReturn):
		return fmt.Errorf("%s needs -payment-return (PAYMENT_RETURN), an http or https URL", f.source("payment"))
	case isStripe && c.PaymentSession < payments.StripeLeast:
		return fmt.Errorf("%s is %v; Stripe gives a buyer at least %v", f.source("payment-session"),
			c.PaymentSession, payments.StripeLeast)
	case isStripe && hold < payments.StripeLeast:
		return fmt.Errorf("%s is %v; with Stripe it must be at least %v", f.source("hold"), hold,
			payments.StripeLeast)
	}
	return nil // the supervisor checks the secrets: workers get them in the handover
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		u.Fragment == ""
}

// providerURL is the address of the provider, "" for Stripe's own.
func (c *paymentFlags) providerURL() (address string, isStripe bool) {
	if c.provider == stripe {
		return "", true
	}
	return strings.CutPrefix(c.provider, stripeAt)
}

// Pays reports whether held orders are paid at a provider.
func (c *paymentFlags) Pays() bool { return c.provider != "" }

// Provider is the provider of payments with a key.
func (c *paymentFlags) Provider(key string) payments.Provider {
	address, isStripe := c.providerURL()
	if isStripe {
		return &payments.Stripe{API: strings.TrimSuffix(address, "/"), Key: key, Return: c.PaymentReturn}
	}
	return &payments.Program{URL: address, Token: key}
}

// NeedsCurrency reports whether the provider takes no amount without a currency.
func (c *paymentFlags) NeedsCurrency() bool {
	_, isStripe := c.providerURL()
	return isStripe && c.Pays()
}

// PaymentSecretsFile is the file that SIGHUP reads again, "" without a file.
func (c *paymentFlags) PaymentSecretsFile() string {
	if strings.HasPrefix(c.secrets, secretMark) {
		return ""
	}
	return c.secrets
}

// PaymentSecrets reads the key of the server and the secrets that sign the provider's events.
func (c *paymentFlags) PaymentSecrets() (key string, secrets payments.Secrets, err error) {
	switch {
	case c.key == "":
		return "", secrets, errors.New("-payment is set without -payment-key (PAYMENT_KEY)")
	case c.secrets == "":
		return "", secrets, errors.New("-payment is set without -payment-secrets (PAYMENT_SECRETS)")
	}
	_, isStripe := c.providerURL()
	if file := c.PaymentSecretsFile(); file != "" {
		secrets, err = ReadPaymentSecrets(file, isStripe)
	} else {
		text := strings.ReplaceAll(c.secrets, ",", "\n")
		secrets, err = parseSecrets("-payment-secrets", "secret", text, isStripe)
	}
	return c.key, secrets, err
}

// ReadPaymentSecrets reads the file of -payment-secrets. The errors do not name it: it may be a secret.
func ReadPaymentSecrets(file string, isStripe bool) (payments.Secrets, error) {
	text, err := os.ReadFile(file)
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return payments.Secrets{}, fmt.Errorf("cannot read the file of -payment-secrets: %w", err)
	}
	return parseSecrets("the file of -payment-secrets", "line", string(text), isStripe)
}

// parseSecrets reads the secrets of a source, one in each part of it.
func parseSecrets(source, part, text string, isStripe bool) (payments.Secrets, error) {
	secrets, number := payments.Secrets{Stripe: isStripe}, 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one := payments.Secrets{Stripe: isStripe, List: []string{line}}
		if err := one.CheckSecrets(); err != nil {
			return payments.Secrets{}, fmt.Errorf("%s, %s %d: %w", source, part, number, err)
		}
		secrets.List = append(secrets.List, line)
	}
	if err := secrets.CheckSecrets(); err != nil {
		return payments.Secrets{}, fmt.Errorf("%s: %w", source, err)
	}
	return secrets, nil
}
