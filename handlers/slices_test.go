package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"flashsale/internal/testkit"
)

const clocksDiffer = `{"code":"SALE_CLOCKS_DIFFER","message":"Redis 时钟相差过大，无法定时"}`

// A sale in two Redis with different clocks is opened and paused, and not scheduled. A change that a slice
// misses is a 503; the slice follows later, and GET /sale shows that.
func TestChangeSaleOfSlices(t *testing.T) {
	onEngines(t, func(t *testing.T, open opener) {
		first, second := miniredis.RunT(t), miniredis.RunT(t)
		s := open(t, "tcp", first.Addr()+","+second.Addr())
		second.SetTime(time.Now().Add(2 * time.Second))
		const schedule = `{"state":"scheduled","opens_at":"2100-01-01T00:00:00Z"}`
		s.expect(t, rootUser, "PUT", "/admin/sale", schedule, 409, clocksDiffer)
		s.expect(t, rootUser, "PUT", "/admin/sale", `{"closes_at":"2100-01-01T00:00:00Z"}`, 409, clocksDiffer)
		body := func(state, tail string) string {
			return strings.TrimSuffix(s.saleBody(state, "null", "null", 50, 0, 0), "}") + tail + "}"
		}
		s.expectNow(t, rootUser, "PUT", "/admin/sale", `{"state":"paused"}`, 200, body("paused", ""))
		second.SetError("READONLY You can't write against a read only replica.")
		s.expect(t, rootUser, "PUT", "/admin/sale", `{"state":"open"}`, 503, unavailable)
		shown := func() string {
			found, err := s.cfg.Sale.Snapshot()
			testkit.Must(t, err)
			s.do(func() { s.Publish(found) })
			_, got, _ := s.call(t, 0, "GET", "/sale", "")
			return hideTimes(got)
		}
		testkit.Until(t, "a slice is away", func() bool { return shown() == body("open", `,"slices_away":1`) })
		second.SetError("")
		testkit.Until(t, "a slice is behind", func() bool { return shown() == body("open", `,"slices_behind":1`) })
		testkit.Until(t, "it follows", func() bool { return shown() == body("open", "") })
	})
}
