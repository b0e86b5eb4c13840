package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

func TestRequestsInEveryStyle(t *testing.T) {
	body := jsonBody(map[string]int64{"count": 1, "food_id": 7})
	tests := []struct {
		style  Style
		method string
		token  string
		key    string
		body   []byte
		want   string
	}{
		{Style{}, "GET", "t", "", nil, "GET /p HTTP/1.1\r\nHost: h:1\r\nAccess-Token: t\r\n\r\n"},
		{Style{}, "POST", "t", "", nil, "POST /p HTTP/1.1\r\nHost: h:1\r\nAccess-Token: " +
			"t\r\nContent-Length: 0\r\n\r\n"},
		{Style{}, "POST", "", "", []byte("{}"),
			"POST /p HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\nContent-Length: " +
				"2\r\n\r\n{}"},
		{Style{}, "POST", "t", "k", []byte("{}"),
			"POST /p HTTP/1.1\r\nHost: h:1\r\nAccess-Token: t\r\nIdempotency-Key: k\r\n" +
				"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"},
		{Style{TokenInQuery: true}, "PATCH", "t", "", body,
			"PATCH /p?access_token=t HTTP/1.1\r\nHost: h:1\r\n" +
				"Content-Type: application/json\r\nContent-Length: 23\r\n\r\n{\"count\":1,\"food_id\":7}"},
		{Style{NewConnections: true}, "GET", "t", "", nil,
			"GET /p HTTP/1.1\r\nHost: h:1\r\nAccess-Token: t\r\nConnection: close\r\n\r\n"},
	}
	for _, test := range tests {
		got := test.style.appendRequest(nil, test.method, "/p", "h:1", test.token, test.key, test.body)
		if string(got) != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(got)))
		if err != nil {
			t.Fatal(err)
		}
		if read, err := io.ReadAll(request.Body); err != nil || !bytes.Equal(read, test.body) {
			t.Errorf("net/http reads the body as %q, %v", read, err)
		}
	}
}
