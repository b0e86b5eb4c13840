package testkit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			looks int // the condition holds at this look
			took  time.Duration
		}{{1, 0}, {2, pace}, {11, 10 * pace}} {
			began, looks := time.Now(), 0
			Until(t, "state", func() bool { looks++; return looks == test.looks })
			if took := time.Since(began); looks != test.looks || took != test.took {
				t.Errorf("%d looks in %v, want %d in %v", looks, took, test.looks, test.took)
			}
		}

		err := Await(t.Context(), "state", time.Second, func() bool { return false })
		if err == nil || err.Error() != "no state within 1s" {
			t.Errorf("a state that never comes: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Millisecond)
		defer cancel()
		err = Await(ctx, "state", time.Second, func() bool { return false })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ended: %v", err)
		}
	})
}
