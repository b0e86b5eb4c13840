package deploy

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// What rooms take passes, and everything else stays small.
func TestFrontsLimitBodies(t *testing.T) {
	const small, room, event = 4 << 10, 64 << 10, 1 << 20
	each(t, func(t *testing.T, name string) {
		server := newBackend(t, true)
		front := fronts[name](t, [3]string{server.address, server.address, server.address}, everywhere)
		for path, most := range map[string]int{
			"/login": small, "/carts/x": small, "/orders": small, "/live": small, "/admin/sale": small,
			"/x/repeats":       small,
			"/blocklist/check": room, "/limits/check": room, "/repeats": room, "/traffic/hit": room,
			"/vk/callback": event,
		} {
			for bytes, want := range map[int]int{most: 200, most + 1: 413} {
				body := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", path, bytes,
					strings.Repeat("x", bytes))
				reply, _ := exchange(t, front, body)
				for range 9 { // the kernel may drop a 413 that is sent before the body has come
					if reply != "" || want == 200 {
						break
					}
					reply, _ = exchange(t, front, body)
				}
				if status(reply) != want || want == 413 && !strings.HasSuffix(reply, "\r\n\r\n"+tooLarge) {
					t.Errorf("%d bytes to %s are answered %q, want %d", bytes, path, reply, want)
				}
			}
		}
	})
}

const (
	tooLarge = `{"code":"BODY_TOO_LARGE","message":"请求体过大"}`
	bot      = "-repeats -vk-confirmation c -vk-secret s -vk-token t -vk-api http://127.0.0.1:1"
)

// 500 documents and an event with many forwarded messages reach the rooms through the fronts.
func TestFrontsPassWhatRoomsTake(t *testing.T) {
	list := t.TempDir() + "/list.csv"
	testkit.WriteFile(t, list, "PASSP_SERIES,PASSP_NUMBER\n4509,000499\n")
	run(t, ".", nil, testkit.Need(t, "bzip2"), list)
	asked := make([]string, 500)
	for i := range asked {
		asked[i] = fmt.Sprintf(`"4509,%06d"`, i)
	}
	documents := "[" + strings.Join(asked, ",") + "]"
	event := `{"type":"message_new","secret":"s","event_id":"e","object":{"peer_id":1,"text":"a",` +
		`"fwd_messages":[` +
		strings.Repeat(`{"text":"`+strings.Repeat("я", 400)+`"},`, 20) + `{}]}}`
	each(t, func(t *testing.T, name string) {
		host := newNetwork() + "1"
		newServer(t, redistest.New(t).Socket, host, append(strings.Fields(bot), "-blocklist", list+".bz2")...)
		server := host + ":8080"
		b := newBuyer(t, fronts[name](t, [3]string{server, server, server}, everywhere))
		testkit.Must(t, b.LoginUser(2))
		testkit.Until(t, "the list is read", func() bool {
			status, _ := call(b, "GET", "/blocklist", "")
			return status == 200
		})
		status, reply := call(b, "POST", "/blocklist/check", documents)
		if status != 200 || reply != `["4509,000499"]` {
			t.Errorf("500 documents in %d bytes: %d %s", len(documents), status, reply)
		}
		if status, reply := call(b, "POST", "/vk/callback", event); status != 200 || reply != "ok" {
			t.Errorf("an event of %d bytes: %d %s", len(event), status, reply)
		}
	})
}
