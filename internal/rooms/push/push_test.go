package push

import (
	"context"
	"errors"
	"testing"

	"github.com/centrifugal/centrifuge-go"

	"flashsale/internal/testkit"
)

func TestMessageReachesAllDevices(t *testing.T) {
	s, st := one(t)
	phone, laptop, other := s.connect(t, ann), s.connect(t, ann), s.connect(t, bob)
	phone.subscribe(them)
	other.subscribe(them)
	_, err := other.Publish(t.Context(), threadPrefix+them, []byte(`{"content":"hello","id":"k1"}`))
	testkit.Must(t, err)
	phone.saw("1 hello")
	other.saw("1 hello")
	message := string(encodeMessage(&st.threads[them].messages[0]))
	laptop.saw("user:3 " + `{"event":"message","message":` + message + `}`)
	_, err = other.Publish(t.Context(), threadPrefix+them, []byte(`{"content":"hello","id":"k1"}`))
	testkit.Must(t, err)
	if n := len(st.threads[them].messages); n != 1 {
		t.Errorf("a repeated publish was stored: %d messages", n)
	}
}

func code(err error) uint32 {
	var known *centrifuge.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return 0
}

// Calls on channels answer with the errors of the protocol.
func TestErrorsOfChannels(t *testing.T) {
	s, _ := one(t)
	d := s.connect(t, 77) // belongs to no thread
	calls := map[string]func(channel string) error{
		"publish": func(channel string) error {
			_, err := d.Publish(t.Context(), channel, []byte(`{"content":"x"}`))
			return err
		},
		"history": func(channel string) error {
			_, err := d.History(t.Context(), channel, centrifuge.WithHistoryLimit(1))
			return err
		},
		"presence": func(channel string) error { _, err := d.Presence(t.Context(), channel); return err },
		"presence_stats": func(channel string) error {
			_, err := d.PresenceStats(t.Context(), channel)
			return err
		},
	}
	for _, row := range []struct {
		channel string
		call    string // "" for all
		want    uint32
	}{
		{"nonsense", "", 102}, {"thread:", "", 102}, {"thread:../x", "", 102}, {"user:007", "", 102},
		{"thread:" + them, "", 103}, {"thread:gbbbbbbbbbbbbbbbb", "", 103}, {"user:3", "", 103},
		{"sale", "history", 108}, {"sale", "presence", 108}, {"sale", "publish", 103},
		{"thread:" + room, "presence", 108}, {"thread:" + room, "presence_stats", 0},
		{"thread:" + room, "publish", 0}, {"thread:" + room, "history", 0},
	} {
		for name, call := range calls {
			if row.call != "" && row.call != name {
				continue
			}
			if got := code(call(row.channel)); got != row.want {
				t.Errorf("%s of %s: error %d, want %d", name, row.channel, got, row.want)
			}
		}
	}
	if _, err := d.RPC(context.Background(), "other", nil); code(err) != 104 {
		t.Errorf("unknown method: %v, want error 104", err)
	}
}
