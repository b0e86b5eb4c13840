package handlers

import (
	"strings"
	"testing"
)

// A request means the same however the network cuts it: every short probe once more, byte by byte.
func TestProbesInPieces(t *testing.T) { onBoth(t, testProbesInPieces) }

func testProbesInPieces(t *testing.T, s *shop) {
	const longest = 1 << 10
	address, fill := s.listen(t), s.filler()
	for topic, probes := range rawTopics {
		t.Run(topic, func(t *testing.T) {
			for _, p := range probes {
				text := fill.Replace(p.send + rawFollower)
				if len(text) > longest {
					continue
				}
				t.Run(p.rule+" "+p.name, func(t *testing.T) {
					t.Parallel()
					talkInPieces(t, address, text).check(t, p.want)
				})
			}
		})
	}
}

// talkInPieces sends one byte in each packet.
func talkInPieces(t *testing.T, address, text string) *conversation {
	t.Helper()
	c := dialProbe(t, address)
	defer c.Close()
	go func() {
		for i := range text {
			if _, err := c.Write([]byte(text[i : i+1])); err != nil {
				return // the server has refused the rest
			}
		}
	}()
	method, _, _ := strings.Cut(text, " ")
	return listen(c, method, "")
}

// A client that ends its side after a whole request reads the reply (9112 9.6). A request that is cut is
// not acted on (9112 8): it gets a 400, or nothing.
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
			for end := range request {
				heard := talkHalf(t, address, request[:end])
				if len(heard.replies) > 0 {
					heard.check(t, wantBad)
				} else if heard.err != nil {
					t.Errorf("cut at %d: %v", end, heard.err)
				}
			}
		})
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
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	return listen(c, "POST", "")
}
