package push

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
)

const (
	endCommand = `{"id":99,"rpc":{"method":"end"}}`
	endReply   = `{"id":99,"error":{"code":104,"message":"method not found"}}`
)

// talk sends frames on a connection of its own, and returns the replies up to that to endCommand or to the
// close, with its code. "TICKET" stands for a ticket of Ann.
func talk(t *testing.T, s *running, frames ...string) (replies []string) {
	t.Helper()
	c := open(t, s)
	testkit.Must(t, c.SetDeadline(time.Now().Add(testkit.Patience)))
	for _, frame := range frames {
		if _, err := c.Write(frameOf(strings.ReplaceAll(frame, "TICKET", ticket(ann)))); err != nil {
			break // the server has closed
		}
	}
	for r := bufio.NewReader(c); ; {
		kind, text, err := readFrame(r)
		if err != nil {
			t.Fatalf("after %q: %v", replies, err)
		}
		if kind == 8 {
			return append(replies, "close "+strconv.Itoa(int(binary.BigEndian.Uint16([]byte(text)))))
		}
		for line := range strings.Lines(text) {
			switch line = strings.TrimSuffix(line, "\n"); {
			case line == endReply:
				return replies
			case !strings.HasPrefix(line, `{"push":`):
				replies = append(replies, clientID.ReplaceAllString(line, `"client":"ID"`))
			}
		}
	}
}

var clientID = regexp.MustCompile(`"client":"[^"]{36}"`)

// open makes a websocket.
func open(tb testing.TB, s *running) *net.TCPConn {
	tb.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "ws://"), Path)
	c, err := net.Dial("tcp", address)
	testkit.Must(tb, err)
	tb.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, handshakeOf(address))
	testkit.Must(tb, err)
	reply := make([]byte, 512)
	if n, err := c.Read(reply); err != nil || !strings.HasSuffix(string(reply[:n]), "\r\n\r\n") {
		tb.Fatalf("handshake: %q, %v", reply[:n], err)
	}
	return c.(*net.TCPConn)
}

// readFrame reads a frame of the server: its kind and its text.
func readFrame(r *bufio.Reader) (kind byte, text string, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, "", err
	}
	size := uint64(head[1])
	if size >= 126 {
		long := make([]byte, 8)
		if _, err := io.ReadFull(r, long[8-2<<(2*(size-126)):]); err != nil {
			return 0, "", err
		}
		size = binary.BigEndian.Uint64(long)
	}
	body := make([]byte, size)
	_, err = io.ReadFull(r, body)
	return head[0] & 15, string(body), err
}

// Each answer is the one that Centrifugo gives, or the protocol's error for what this server does not have.
func TestAnswersOfTheProtocol(t *testing.T) {
	s, st := one(t)
	st.write(t, them, "a", "b", "c")
	st.change(func() {
		for i := range st.threads[them].messages {
			st.threads[them].messages[i].Created = time.UnixMilli(1_700_000_000_000)
		}
	})
	const (
		connect = `{"id":1,"connect":{"token":"TICKET"}}`
		hello   = `{"id":1,"connect":{"client":"ID","expires":true,"ttl":3600,"subs":{"user:3":{}},` +
			`"ping":25,"pong":true}}`
		thread = `"channel":"thread:u3-9"`
		top    = `"epoch":"e1","offset":3`
		fresh  = `{"recoverable":true,` + top + `,"positioned":true}`
		missed = `{"recoverable":true,` + top + `,"positioned":true,"was_recovering":true}`
	)
	message := func(id int, content string) string {
		n := strconv.Itoa(id)
		return `{"data":{"id":` + n + `,"thread_id":"u3-9","user_id":9,"content":"` + content +
			`","created_at":"2023-11-14T22:13:20.000Z"},"info":{"user":"9","client":""},"offset":` + n + `}`
	}
	history := func(id, messages string) string {
		return `{"id":` + id + `,"history":{"publications":[` + messages + `],` + top + `}}`
	}
	failed := func(id, code, message string) string {
		return `{"id":` + id + `,"error":{"code":` + code + `,"message":"` + message + `"}}`
	}
	lost, none, denied := failed("2", "112", "unrecoverable position"), failed("2", "108", "not available"),
		failed("2", "103", "permission denied")
	for _, row := range []struct {
		name   string
		frames []string // after connect
		want   []string
	}{
		{"subscribe, twice, and end", []string{`{"id":2,"subscribe":{` + thread + `}}`,
			`{"id":3,"subscribe":{` + thread + `}}`, `{"id":4,"unsubscribe":{` + thread + `}}`},
			[]string{`{"id":2,"subscribe":` + fresh + `}`, failed("3", "105", "already subscribed"),
				`{"id":4,"unsubscribe":{}}`}},
		{"subscribe with all wishes", []string{`{"id":2,"subscribe":{` + thread + `,"token":"x","data":{},` +
			`"positioned":true,"recoverable":true,"join_leave":true,"flag":1}}`},
			[]string{`{"id":2,"subscribe":` + fresh + `}`}},
		{"recover", []string{`{"id":2,"subscribe":{` + thread + `,"recover":true,"epoch":"e1","offset":2}}`},
			[]string{`{"id":2,"subscribe":{"recoverable":true,"epoch":"e1","publications":[` + message(3, "c") +
				`],"recovered":true,"offset":2,"positioned":true,"was_recovering":true}}`}},
		{"recover another epoch", []string{`{"id":2,"subscribe":{` + thread +
			`,"recover":true,"epoch":"e0","offset":2}}`}, []string{`{"id":2,"subscribe":` + missed + `}`}},
		{"recover from the future", []string{`{"id":2,"subscribe":{` + thread +
			`,"recover":true,"epoch":"e1","offset":9}}`}, []string{`{"id":2,"subscribe":` + missed + `}`}},
		{"recover or refuse", []string{`{"id":2,"subscribe":{` + thread +
			`,"recover":true,"epoch":"e0","offset":2,"flag":2}}`}, []string{lost}},
		{"no recovery there", []string{`{"id":2,"subscribe":{"channel":"sale","recover":true,"offset":2}}`},
			[]string{`{"id":2,"subscribe":{"was_recovering":true}}`}},
		{"no such channel", []string{`{"id":2,"subscribe":{"channel":"x"}}`},
			[]string{failed("2", "102", "unknown channel")}},
		{"another's thread", []string{`{"id":2,"subscribe":{"channel":"thread:u4-9"}}`}, []string{denied}},
		{"a name too long", []string{`{"id":2,"subscribe":{"channel":"thread:u` + strings.Repeat("3", 70) + `"}}`},
			[]string{failed("2", "107", "bad request")}},
		{"no name", []string{`{"id":2,"subscribe":{"channel":""}}`}, []string{"close 3501"}},
		{"delta", []string{`{"id":2,"subscribe":{` + thread + `,"delta":"fossil"}}`}, []string{none}},
		{"map", []string{`{"id":2,"subscribe":{` + thread + `,"type":1}}`}, []string{none}},
		{"publish into a map", []string{`{"id":2,"publish":{` + thread + `,"type":1,"key":"k","data":{}}}`},
			[]string{none}},
		{"token of a subscription", []string{`{"id":2,"subscribe":{"channel":"sale"}}`,
			`{"id":3,"sub_refresh":{"channel":"sale","token":"x"}}`},
			[]string{`{"id":2,"subscribe":{}}`, failed("3", "108", "not available")}},
		{"two commands in a frame", []string{`{"id":2,"history":{` + thread + `}}` + "\n" +
			`{"id":2,"history":{` + thread + `,"limit":1}}`},
			[]string{history("2", ""), history("2", message(1, "a"))}},
		{"history", []string{`{"id":2,"history":{` + thread + `,"limit":2,"reverse":true}}`,
			`{"id":3,"history":{` + thread + `,"limit":1,"since":{"offset":1,"epoch":"e1"}}}`,
			`{"id":4,"history":{` + thread + `,"limit":2,"reverse":true,"since":{"offset":2,"epoch":"e1"}}}`,
			`{"id":5,"history":{` + thread + `,"limit":-1,"since":{"offset":9,"epoch":"e1"}}}`},
			[]string{history("2", message(3, "c")+","+message(2, "b")), history("3", message(2, "b")),
				history("4", message(1, "a")), history("5", "")}},
		{"history of another epoch", []string{`{"id":2,"history":{` + thread +
			`,"limit":1,"since":{"offset":1,"epoch":"e0"}}}`}, []string{lost}},
		{"publish to the sale", []string{`{"id":2,"publish":{"channel":"sale","data":{"content":"x"}}}`},
			[]string{denied}},
		{"publish no message", []string{`{"id":2,"publish":{` + thread + `,"data":{"x":1}}}`},
			[]string{failed("2", "107", "bad request")}},
		{"presence of all", []string{`{"id":2,"presence":{"channel":"sale"}}`}, []string{none}},
		{"message to nobody", []string{`{"send":{"data":{}}}`}, []string{"close 3508"}},
		{"refresh", []string{`{"id":2,"refresh":{"token":"TICKET"}}`},
			[]string{`{"id":2,"refresh":{"expires":true,"ttl":3600}}`}},
		{"refresh with nonsense", []string{`{"id":2,"refresh":{"token":"x"}}`}, []string{"close 3500"}},
		{"connect twice", []string{connect}, []string{"close 3501"}},
		{"pong without a ping", []string{`{}`}, []string{"close 3501"}},
		{"no id", []string{`{"rpc":{"method":"x"}}`}, []string{"close 3501"}},
		{"no command", []string{`{"id":2}`}, []string{"close 3501"}},
		{"no JSON", []string{`nonsense`}, []string{"close 3501"}},
		{"a frame too large", []string{strings.Repeat("x", frameMax+1)}, []string{"close 1009"}},
	} {
		frames := append([]string{connect}, row.frames...)
		if !strings.HasPrefix(row.want[len(row.want)-1], "close") {
			frames = append(frames, endCommand)
		}
		got := talk(t, s, frames...)
		if want := append([]string{hello}, row.want...); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", row.name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	got := talk(t, s, `{"id":2,"subscribe":{"channel":"sale"}}`)
	if want := []string{"close 3501"}; !slices.Equal(got, want) {
		t.Errorf("a command before connect: %q, want %q", got, want)
	}
}
