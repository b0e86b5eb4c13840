package handlers

import (
	"flashsale/internal/testkit"
	"testing"
)

// A client that ends its side after a whole request reads the reply (9112 9.6). A request that is cut is
// not acted on (9112 8) and gets a 400. Line ends alone are no request.
func TestProbesThatAreCut(t *testing.T) { onBoth(t, testProbesThatAreCut) }

func testProbesThatAreCut(t *testing.T, s *shop) {
	address := s.listen(t)
	for name, request := range map[string]string{
		"length": rawPost("Connection: close\r\n"+rawLength, rawLogin),
		"chunks": rawPost("Connection: close\r\n"+rawChunked,
			"5;a=\"b\"\r\n"+rawLogin[:5]+"\r\n22\r\n"+rawLogin[5:]+
				"\r\n0\r\nX: a\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			talkHalf(t, address, request).check(t, "login close")
			for end := range len(request) - 1 {
				talkHalf(t, address, request[:end+1]).check(t, wantBad)
			}
		})
	}
	for _, text := range []string{"", "\r\n", "\r\n\r\n\r"} {
		if heard := talkHalf(t, address, text); heard.raw.Len() > 0 || heard.err != nil {
			t.Errorf("%q is answered %q, %v", text, heard.raw.Bytes(), heard.err)
		}
	}
}

// talkHalf sends a text and ends its side.
func talkHalf(t *testing.T, address, text string) *conversation {
	t.Helper()
	c := dialProbe(t, address)
	defer c.Close()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, c.CloseWrite())
	return listen(c, "POST", "")
}
