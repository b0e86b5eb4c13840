package app

import (
	"testing"

	"flashsale/internal/catalog"
	"flashsale/internal/testkit"
)

// A catalogue that Stripe could not charge is refused, by its food.
func TestPricesFitTheProvider(t *testing.T) {
	const none = "-payment is stripe, and the catalogue names no currency"
	const costs = "-payment is stripe, and food 1 costs "
	for _, tc := range []struct{ price, currency, provider, want string }{
		{"12", "", "stripe", none},
		{"12", "", "https://pay.example/x", ""},
		{"12.5", "EUR", "stripe", ""},
		{"12", "MGA", "stripe", ""},
		{"12.5", "MGA", "stripe", costs + "1250 minor units of MGA: Stripe charges only multiples of 100"},
		{"12.5", "MGA", "https://pay.example/x", ""},
		{"5.120", "KWD", "stripe", ""},
		{"5.124", "KWD", "stripe", costs + "5124 minor units of KWD: Stripe charges only multiples of 10"},
	} {
		folder := t.TempDir()
		write(t, folder+"/foods.csv", "id,stock,price,currency\n1,9,"+tc.price+","+tc.currency+"\n")
		write(t, folder+"/users.csv", "id,name,password\n1,root,toor\n")
		cfg := settings(t, "-catalog-dir", folder, "-hold", "30m", "-payment", tc.provider,
			"-payment-return", "https://shop.example/")
		loaded, err := catalog.Load(t.Context(), cfg.Catalog)
		testkit.Must(t, err)
		got := ""
		if err := checkPrices(cfg, loaded); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s %s at %s: %s, want %s", tc.price, tc.currency, tc.provider, got, tc.want)
		}
	}
}
