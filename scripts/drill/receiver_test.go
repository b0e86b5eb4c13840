package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/webhook"
)

// The receiver of the drill holds finds what a sender may not do.
func TestReceiverJudges(t *testing.T) {
	const otherSecret = "whsec_YW5vdGhlciBvbmUsIHdoaWNoIGlzIGxvbmcgZW5vdWdo"
	tests := map[string]struct {
		posts []string // "id order seq", and another secret
		wrong string   // "" = nothing
		lacks string
	}{
		"in order":    {[]string{"a o1 1", "c o2 1", "b o1 2"}, "", "d"},
		"again":       {[]string{"a o1 1", "b o1 2", "a o1 1", "b o1 2"}, "", "c d"},
		"of no order": {[]string{"d  0", "d  0"}, "", "a b c"},
		"a gap":       {[]string{"a o1 1", "c o1 3"}, "number 3 of order o1, behind number 1", "b d"},
		"too early":   {[]string{"b o1 2", "a o1 1"}, "number 2 of order o1, behind number 0", "c d"},
		"twice":       {[]string{"a o1 1", "b o1 1"}, "number 1 of order o1, behind number 1", "c d"},
		"forged":      {[]string{"a o1 1 " + otherSecret}, "no matching signature", "a b c d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := startReceiver()
			testkit.Must(t, err)
			defer r.Close()
			for _, text := range test.posts {
				f := append(strings.Split(text, " "), paymentSecret)
				hook, err := webhook.New(r.URL, true, f[3])
				testkit.Must(t, err)
				body := fmt.Sprintf(`{"id":%q,"data":{"order_id":%q,"seq":%s}}`, f[0], f[1], f[2])
				err = hook.Post(t.Context(), f[0], time.Now(), []byte(body))
				if taken := f[3] == paymentSecret; taken != (err == nil) {
					t.Error(err)
				}
			}
			if lacks := strings.Join(r.lacks([]string{"a", "b", "c", "d"}), " "); lacks != test.lacks {
				t.Errorf("lacks %q, want %q", lacks, test.lacks)
			}
			if found := fmt.Sprint(r.wrong); (test.wrong == "") != (len(r.wrong) == 0) ||
				!strings.Contains(found, test.wrong) {
				t.Errorf("wrong: %s, want %q", found, test.wrong)
			}
		})
	}
}
