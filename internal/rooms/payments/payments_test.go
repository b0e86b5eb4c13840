package payments

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/internal/observe/figures"
	"flashsale/internal/testkit"
)

const (
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	stripeSecret   = "whsec_stripe_is_not_base64!"
)

var now = time.Unix(1_800_000_000, 0)

// standard signs a body as Standard Webhooks wants it.
func standard(t *testing.T, secret string, at time.Time, body string) http.Header {
	key, err := webhooks.NewWebhook(secret)
	testkit.Must(t, err)
	signature, err := key.Sign("evt_1", at, []byte(body))
	testkit.Must(t, err)
	h := http.Header{}
	h.Set("webhook-id", "evt_1")
	h.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	h.Set("webhook-signature", "v1,AAAA "+signature)
	return h
}

// stripe signs a body as Stripe does, with another signature before it.
func stripe(secret string, at time.Time, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=00ff,v0=11,v1=%s", at.Unix(),
		hex.EncodeToString(mac.Sum(nil)))}}
}

func TestRead(t *testing.T) {
	const (
		other    = `{"type":"x"}`
		made     = `{"type":"payment.succeeded","data":{"payment_id":"p1","order_id":"s-2","amount":7}}`
		complete = `{"id":"evt_2","type":"checkout.session.completed","data":{"object":{"id":"cs_1",` +
			`"client_reference_id":"s-2-1","amount_total":7,"payment_status":"paid"}}}`
		unpaid = `{"id":"evt_2","type":"checkout.session.completed","data":{"object":{"id":"cs_1",` +
			`"client_reference_id":"s-2-1","amount_total":7,"payment_status":"unpaid"}}}`
	)
	twice := func(name string) http.Header {
		h := standard(t, standardSecret, now, made)
		h.Add(name, h.Get(name))
		return h
	}
	secrets := []string{stripeSecret, standardSecret}
	atStripe, atProgram := Secrets{true, secrets}, Secrets{false, secrets}
	for _, tc := range []struct {
		name   string
		at     Secrets
		header http.Header
		body   string
		want   Receipt
		told   bool
		err    error
	}{
		{"standard", atProgram, standard(t, standardSecret, now, made), made,
			Receipt{"evt_1", "s-2", "p1", 7}, true, nil},
		{"stripe", atStripe, stripe(stripeSecret, now, complete), complete,
			Receipt{"evt_2", "s-2-1", "cs_1", 7}, true, nil},
		{"stripe, money to come", atStripe, stripe(stripeSecret, now, unpaid), unpaid, Receipt{}, false, nil},
		{"another type", atProgram, standard(t, standardSecret, now, other), other, Receipt{}, false, nil},
		{"another type of stripe", atStripe, stripe(stripeSecret, now, other), other, Receipt{}, false, nil},
		{"another body", atProgram, standard(t, standardSecret, now, made), made + " ",
			Receipt{}, false, ErrForged},
		{"another body of stripe", atStripe, stripe(stripeSecret, now, complete), complete + " ", Receipt{}, false,
			ErrForged},
		{"another secret", atStripe, stripe("another secret of stripe", now, complete), complete, Receipt{}, false,
			ErrForged},
		{"standard at stripe", atStripe, standard(t, standardSecret, now, complete), complete,
			Receipt{}, false, ErrForged},
		{"stripe at another provider", atProgram, stripe(standardSecret, now, made), made,
			Receipt{}, false, ErrForged},
		{"two ids", atProgram, twice("Webhook-Id"), made, Receipt{}, false, ErrForged},
		{"two times", atProgram, twice("Webhook-Timestamp"), made, Receipt{}, false, ErrForged},
		{"two signatures", atProgram, twice("Webhook-Signature"), made, Receipt{}, false, ErrForged},
		{"no signature", atProgram, http.Header{}, made, Receipt{}, false, ErrForged},
		{"old", atProgram, standard(t, standardSecret, now.Add(-6*time.Minute), made), made,
			Receipt{}, false, ErrStale},
		{"too new", atStripe, stripe(stripeSecret, now.Add(6*time.Minute), complete), complete,
			Receipt{}, false, ErrStale},
		{"no JSON", atProgram, standard(t, standardSecret, now, "{"), "{", Receipt{}, false, ErrMalform},
		{"no amount", atProgram, standard(t, standardSecret, now, `{"type":"payment.succeeded","data":{}}`),
			`{"type":"payment.succeeded","data":{}}`, Receipt{}, false, ErrMalform},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, told, err := tc.at.Read(tc.header, []byte(tc.body), now)
			if !errors.Is(err, tc.err) || told != tc.told || err == nil && told && got != tc.want {
				t.Errorf("%+v, %t, %v; want %+v, %t, %v", got, told, err, tc.want, tc.told, tc.err)
			}
		})
	}
}

// Events that tell of no payment of an order are taken, and nobody looks for an order.
func TestReceiveNothing(t *testing.T) {
	count := figures.Private()
	p := New(Config{Provider: &Stripe{}, Secrets: Secrets{true, []string{stripeSecret}}, Figures: count})
	for _, object := range []string{
		`"amount_total":7,"client_reference_id":"order-12"`, `"amount_total":7,"client_reference_id":"INV-2026"`,
		`"amount_total":7,"client_reference_id":"sub-1-2"`, `"amount_total":7`,
		`"amount_total":0,"client_reference_id":"zv2hq6ya-2"`,
	} {
		body := `{"id":"evt_2","type":"checkout.session.completed","data":{"object":{"id":"cs_1",` + object +
			`,"payment_status":"paid"}}}`
		if err := p.Receive(stripe(stripeSecret, now, body), []byte(body), now); err != nil {
			t.Errorf("%s: %v", object, err)
		}
	}
	if n := figures.By(count.PaymentEvents.Values())[eventNothing]; n != 5 {
		t.Errorf("%v events tell of nothing, want 5", n)
	}
}

// Stripe gets amounts in its own units, and what it tells is read back; and a time that it takes.
func TestStripeUnits(t *testing.T) {
	var form url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		testkit.Must(t, r.ParseForm())
		form = r.PostForm
		io.WriteString(w, `{"id":"p1","url":"https://pay.example/p1"}`)
	}))
	defer server.Close()
	for _, tc := range []struct {
		currency string
		amount   int64
		till     time.Duration // of the hold, from now
		want     string        // amount and minutes, "" if it is refused
	}{
		{"EUR", 701, 0, "701 31m0s"},
		{"JPY", 501, 32 * time.Minute, "501 32m0s"},
		{"HUF", 501, 25 * time.Hour, "501 23h59m0s"},
		{"ISK", 501, 0, "50100 31m0s"},
		{"UGX", 501, 0, "50100 31m0s"},
		{"MGA", 1_000_000_000_000_000, 0, "10000000000000 31m0s"},
		{"MGA", 501, 0, ""},
		{"BHD", 5120, 0, "5120 31m0s"},
		{"JOD", 5125, 0, ""},
		{"KWD", 5124, 0, ""},
		{"OMR", 5121, 0, ""},
		{"TND", 5129, 0, ""},
	} {
		form = nil
		_, err := (&Stripe{API: server.URL}).Open(t.Context(), Order{Amount: tc.amount, Currency: tc.currency,
			Begun: now, Till: now.Add(tc.till)})
		if tc.want == "" {
			if !errors.Is(err, ErrProvider) || form != nil {
				t.Errorf("%s %d: %v; asked %v", tc.currency, tc.amount, err, form)
			}
			continue
		}
		testkit.Must(t, err)
		amount := form.Get("line_items[0][price_data][unit_amount]")
		expires, _ := strconv.ParseInt(form.Get("expires_at"), 10, 64)
		if got := fmt.Sprint(amount, " ", time.Unix(expires, 0).Sub(now)); got != tc.want {
			t.Errorf("%s %d is %s at Stripe, want %s", tc.currency, tc.amount, got, tc.want)
		}
		body := fmt.Sprintf(`{"id":"evt_2","type":"checkout.session.completed","data":{"object":{"id":"cs_1",`+
			`"client_reference_id":"s-2","amount_total":%s,"currency":"%s","payment_status":"paid"}}}`, amount,
			strings.ToLower(tc.currency))
		r, _, err := Secrets{true, []string{stripeSecret}}.Read(stripe(stripeSecret, now, body), []byte(body), now)
		if err != nil || r.Amount != tc.amount {
			t.Errorf("an event about %s %d is read as %+v, %v", tc.currency, tc.amount, r, err)
		}
	}
}

// Both kinds of providers: what they are asked, and what becomes of their answers.
func TestProviders(t *testing.T) {
	var asked string
	status, answer := http.StatusOK, `{"id":"p1","url":"https://pay.example/p1"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = fmt.Sprintln(r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"),
			string(body))
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer server.Close()
	order := Order{ID: "s-2", Attempt: 3, Amount: 700, Currency: "EUR", Begun: now, Till: now,
		Title: "2 noodles"}
	for _, tc := range []struct {
		name            string
		provider        Provider
		opened, ended   string
		endedWithStatus int
	}{
		{"stripe", &Stripe{API: server.URL, Key: "sk", Return: "https://shop.example/"},
			"POST /v1/checkout/sessions Bearer sk s-2/3 cancel_url=https%3A%2F%2Fshop.example%2F" +
				"&client_reference_id=s-2&expires_at=1800001860&line_items%5B0%5D%5Bprice_data%5D%5Bcurrency%5D=eur" +
				"&line_items%5B0%5D%5Bprice_data%5D%5Bproduct_data%5D%5Bname%5D=2+noodles" +
				"&line_items%5B0%5D%5Bprice_data%5D%5Bunit_amount%5D=700&line_items%5B0%5D%5Bquantity%5D=1" +
				"&mode=payment&success_url=https%3A%2F%2Fshop.example%2F\n",
			"POST /v1/checkout/sessions/p1/expire Bearer sk  \n", 400},
		{"program", &Program{URL: server.URL + "/payments", Token: "sk"},
			`POST /payments Bearer sk s-2/3 {"amount":700,"attempt":3,"currency":"EUR","order_id":"s-2",` +
				`"till":"2027-01-15T08:00:00Z","title":"2 noodles"}` + "\n",
			"DELETE /payments/p1 Bearer sk  \n", 409},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer = 200, `{"id":"p1","url":"https://pay.example/p1"}`
			got, err := tc.provider.Open(t.Context(), order)
			if err != nil || got != (Session{"p1", "https://pay.example/p1"}) || asked != tc.opened {
				t.Errorf("%+v, %v; asked %s\nwant %s", got, err, asked, tc.opened)
			}
			if err := tc.provider.End(t.Context(), "p1"); err != nil || asked != tc.ended {
				t.Errorf("%v; asked %s\nwant %s", err, asked, tc.ended)
			}
			status = tc.endedWithStatus
			testkit.Must(t, tc.provider.End(t.Context(), "p1"))
			for _, status = range []int{200, 302, 400, 500} {
				answer = "{"
				if _, err := tc.provider.Open(t.Context(), order); !errors.Is(err, ErrProvider) {
					t.Errorf("status %d: %v, want ErrProvider", status, err)
				}
			}
			status = 200
			for _, page := range []string{"", "javascript:alert(1)", "//pay.example/p1", "https:///p1", "/p1"} {
				answer = `{"id":"p1","url":"` + page + `"}`
				if _, err := tc.provider.Open(t.Context(), order); !errors.Is(err, errUseless) {
					t.Errorf("a page %q: %v, want errUseless", page, err)
				}
			}
			status = 500
			if err := tc.provider.End(t.Context(), "p1"); !errors.Is(err, ErrProvider) {
				t.Errorf("%v, want ErrProvider", err)
			}
		})
	}
}
