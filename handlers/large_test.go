package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The longest text of a user, in the form in which VK writes Cyrillic letters.
var longestText = strings.Repeat(`\u0416`, 4096)

const eventHead = "POST /vk/callback HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"

// quoting is an event with a text and with so many quoted messages of the greatest length.
func quoting(id, text string, quoted int) string {
	one := `{"date":5,"from_id":7,"text":"` + longestText + `","attachments":[{"type":"photo"}]}`
	list := strings.Join(strings.Fields(strings.Repeat(one+" ", quoted)), ",")
	return vkMessageNew(id, `{"message":{"peer_id":1,"fwd_messages":[`+list+`],"text":"`+text+`"}}`)
}

// What VK sends is taken: the longest text, and one that quotes 40 of them. Other calls have their limit.
func TestLargeVKMessages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withRepeats(t)
		s.vk(t, quoting("a", longestText, 0), 200, "ok")
		s.vk(t, quoting("b", longestText, 20), 200, "ok")
		s.vk(t, quoting("c", "hi", 40), 200, "ok")
		s.expect(t, 2, "POST", "/repeats", `{"text":"`+strings.Repeat("Ж", 4096)+`"}`, 200, `{"count":2}`)
		s.expect(t, 2, "POST", "/repeats", `{"text":"hi"}`, 200, `{"count":1}`)
		large := quoting("d", "x", 20)
		s.vk(t, strings.Replace(large, vkSecret, "wrong", 1), 403, wrongSecret)
		s.vk(t, large[:len(large)-1], 400, malformed)
		address := s.listen(t)
		refused := func(path string, length int) { // by its head alone
			t.Helper()
			c := dial(t, address)
			_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", path, length)
			if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 413 {
				t.Errorf("%s of %d bytes: %+v, %v", path, length, r, err)
			}
		}
		refused("/vk/callback", vkBodyBytesMax+1)
		refused("/repeats", longestBodyMax+1)
		for _, path := range []string{"/login", "/vk/callbacks", "/vk/callback/"} {
			refused(path, bodyBytesMax+1)
		}
	})
}

// Behind a large request others may wait: more of them than the loop has room for.
func TestRequestsBehindALargeOne(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.withRepeats(t)
		c := dial(t, s.listen(t))
		const more = 3000
		body := quoting("a", "hi", 4)
		go func() {
			_, _ = fmt.Fprintf(c, eventHead+"%s%s", len(body), body,
				strings.Repeat("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", more))
		}()
		replies := bufio.NewReader(c)
		for i := range 1 + more {
			r, err := http.ReadResponse(replies, nil)
			if err != nil || r.StatusCode != 200 {
				t.Fatalf("reply %d: %+v, %v", i, r, err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
		}
	})
}
