package handlers

import (
	"encoding/json"
	"testing"

	"flashsale/internal/rooms/events"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// A caller has some calls that wait for events, and keeps nobody else out with them.
func TestEventsWait(t *testing.T) {
	onEngines(t, func(t *testing.T, open opener) {
		s := open(t, "unix", redistest.Start(t).Socket)
		s.do(func() { s.cfg.ServiceToken = serviceToken })
		streams := events.Join(s.redis, s.cfg.Sale.ID())
		testkit.Background(t, streams.Run)
		testkit.Until(t, "a connection", streams.Up)
		reader := events.NewReader(streams)
		testkit.Background(t, reader.Run)
		s.join(Events(reader, nil))
		_, body, _ := s.call(t, 1, "GET", "/events", "")
		var page struct{ Next string }
		testkit.Must(t, json.Unmarshal([]byte(body), &page))
		path := "/events?after=" + page.Next + "&wait="
		codes := make(chan int)
		for range waitersOwn + 1 {
			go func() {
				status, _, _ := s.call(t, 1, "GET", path+"30", "")
				codes <- status
			}()
		}
		if status := <-codes; status != 429 {
			t.Errorf("the first of %d calls is answered %d, want 429: one too many", waitersOwn+1, status)
		}
		want := `{"events":[],"next":"` + page.Next + `"}`
		s.expect(t, 0, "GET", path+"1", "", 200, want, "Authorization", "Bearer "+serviceToken)
		reader.End()
		for range waitersOwn {
			if status := <-codes; status != 200 {
				t.Errorf("a call that has waited is answered %d", status)
			}
		}
	})
}
