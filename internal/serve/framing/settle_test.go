package framing

import "testing"

// What is settled is gone, and what stands behind the request is whole and at its end.
func TestSettle(t *testing.T) {
	const behind = "GET /2 HTTP/1.1\r\nX: y\r\n\r\n"
	for _, test := range []struct{ text, want string }{
		{get + "\r\n", get + "\r\n"},
		{post + "Content-Length: 2\r\n\r\nab", post + "Content-Length: 2\r\n\r\nab"},
		{post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
			post + "Expect:             \r\nContent-Length: 2\r\n\r\nab"},
		{chunked + "2\r\nab\r\n0\r\n\r\n", chunked + "2\r\nab\r\n0\r\n\r\n"},
		{chunked + "2\r\nab\r\n0\r\nX: y\r\n\r\n", chunked + "2\r\nab\r\n0\r\n\r\n"},
		{chunked + "0;a=b\r\nX: y\r\nZ:\r\n\r\n", chunked + "0;a=b\r\n\r\n"},
		{post + "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n0\r\nX: y\r\n\r\n",
			post + "Transfer-Encoding: chunked\r\nExpect:             \r\n\r\n0\r\n\r\n"},
	} {
		for _, rest := range []string{"", "G", behind} {
			received := []byte(test.text + rest)
			var r Request
			v := r.Scan(received, &limits)
			if v != Whole || r.Size() != len(test.text) {
				t.Fatalf("%q: %v, %d bytes", test.text, v, r.Size())
			}
			for range 2 { // a second time changes nothing
				received = r.Settle(received)
				if string(received) != test.want+rest || r.Size() != len(test.want) {
					t.Errorf("%q: settled to %q with %d bytes, want %q", test.text, received, r.Size(), test.want+rest)
				}
			}
			// It is the same request for the next reader.
			var again Request
			if v := again.Scan(received, &limits); v != Whole || again.Size() != r.Size() || again.Close != r.Close {
				t.Errorf("%q: %v with %d bytes", received, v, again.Size())
			}
		}
	}
}
