package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"flashsale/handlers"
	"flashsale/internal/testkit"
	"flashsale/redisx"
	"flashsale/redisx/turnover"
)

// A worker gets the plan or the error that the supervisor has found. One question is answered at a time.
func TestDesk(t *testing.T) {
	testkit.KeepLog(t)
	d, err := openDesk()
	testkit.Must(t, err)
	told, asked, goOn := error(nil), make(chan handlers.NextWish, 1), make(chan struct{})
	act := func(_ context.Context, wish handlers.NextWish) (handlers.NextPlan, error) {
		asked <- wish
		<-goOn
		return handlers.NextPlan{Sale: wish.Sale, Next: "hgfedcba", Foods: 3}, told
	}
	stop := testkit.Background(t, func(ctx context.Context) error {
		d.run(ctx, act)
		return nil
	})
	type outcome struct {
		plan handlers.NextPlan
		err  error
	}
	opens := time.Date(2100, 1, 2, 3, 4, 5, 6e6, time.UTC)
	wish := handlers.NextWish{Sale: "abcdefgh", OpensAt: opens, By: "ann"}
	for name, want := range map[string]error{"a plan": nil, "not closed": turnover.ErrNotClosed,
		"ledger": turnover.ErrLedgerBehind, "over": turnover.ErrOverAlready, "other": redisx.ErrOtherSale,
		"clocks": redisx.ErrClocksDiffer, "unknown": redisx.ErrUnavailable} {
		if told = want; name == "unknown" {
			told = errors.New("a connection breaks")
		}
		answered := make(chan outcome, 1)
		go func() {
			plan, err := askDesk(d.address(), wish)
			answered <- outcome{plan, err}
		}()
		if got := <-asked; got != wish {
			t.Errorf("%s: the wish is %+v, want %+v", name, got, wish)
		}
		if _, err := askDesk(d.address(), wish); !errors.Is(err, handlers.ErrNextBusy) {
			t.Errorf("%s: a second question: %v", name, err)
		}
		goOn <- struct{}{}
		got := <-answered
		if !errors.Is(got.err, want) || want == nil && (got.plan.Next != "hgfedcba" || got.plan.Foods != 3) {
			t.Errorf("%s: %+v, %v; want %v", name, got.plan, got.err, want)
		}
	}
	told = &handlers.NextFailedError{Reason: "line 3"}
	go func() {
		<-asked
		goOn <- struct{}{}
	}()
	failed := (*handlers.NextFailedError)(nil)
	if _, err := askDesk(d.address(), wish); !errors.As(err, &failed) || failed.Reason != "line 3" {
		t.Errorf("a reason: %v", err)
	}
	stop()
	if _, err := askDesk(d.address(), wish); !errors.Is(err, redisx.ErrUnavailable) {
		t.Errorf("without a supervisor: %v", err)
	}
}
