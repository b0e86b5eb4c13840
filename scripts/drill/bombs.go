package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	volleySize = 400
	loginMax   = 1 << 10 // bytes of the body of a login
)

// bombs sends bodies that could make the server work for long to the login, which anybody may call, and then
// as many short ones.
func bombs(ctx context.Context, s *stack, _ *rand.Rand) error {
	const malformed, tooLarge = "400 MALFORMED_JSON", "413 BODY_TOO_LARGE"
	oversize, err := s.openVolley(tooLarge, bomb(`,"\n":1`, 32*loginMax), bomb(`,"\n":1`, loginMax+1))
	if err != nil {
		return err
	}
	s.fire(ctx, oversize, 0, 0)
	oversize.close()
	hostile, err := s.openVolley(malformed, bomb(`,"\n":1`, loginMax), bomb(`,"\u0070assword":[]`, loginMax),
		bomb(`,"":"\ud800\u00e4"`, loginMax), bomb(`,"":[[[[[]]]]]`, loginMax))
	if err != nil {
		return err
	}
	defer hostile.close()
	harmless, err := s.openVolley(malformed, bomb("", 0))
	if err != nil {
		return err
	}
	defer harmless.close()
	return s.contrast(func() (*tide, error) {
		return s.fire(ctx, hostile, s.lasting(2*time.Second, 10*time.Second), 0), nil
	}, func(rate float64) *tide {
		return s.fire(ctx, harmless, s.lasting(time.Second, 10*time.Second), rate)
	})
}

// bomb is a body of a login with a member again and again, of this number of bytes if they suffice.
func bomb(member string, bytes int) string {
	const begin, end = `{"username":"x","password":[1]`, "}"
	room := max(0, bytes-len(begin)-len(end))
	members := strings.Repeat(member, room/max(1, len(member)))
	return begin + members + strings.Repeat(" ", room-len(members)) + end
}

// volley is logins on connections of their own. The last bytes of all of them come together.
type volley struct {
	conns    []net.Conn
	replies  []*bufio.Reader
	requests []string // for the connections, in turn
	right    answer
}

func (s *stack) openVolley(right answer, bodies ...string) (*volley, error) {
	v := &volley{right: right}
	for _, body := range bodies {
		const head = "POST /login HTTP/1.1\r\nHost: drill\r\nContent-Length: %d\r\n\r\n"
		v.requests = append(v.requests, fmt.Sprintf(head, len(body))+body)
	}
	for range volleySize {
		c, err := net.DialTimeout("tcp", s.servers[0].address, answerPatient)
		if err != nil {
			v.close()
			return nil, fmt.Errorf("cannot open a volley: %w", err)
		}
		v.conns, v.replies = append(v.conns, c), append(v.replies, bufio.NewReader(c))
	}
	return v, nil
}

func (v *volley) close() {
	for _, c := range v.conns {
		c.Close()
	}
}

// fire fires the volley again and again for a time, but once at least: as fast as it is answered, or with a
// rate above 0 at that many requests a second.
func (s *stack) fire(ctx context.Context, v *volley, lasting time.Duration, rate float64) *tide {
	t := &tide{answers: map[answer]int{}}
	end, began := s.measure(t, []answer{v.right}), time.Now()
	for first := true; ctx.Err() == nil && (first || time.Since(began) < lasting); first = false {
		v.send(func(request string) string { return request[:len(request)-1] })
		v.send(func(request string) string { return request[len(request)-1:] })
		for i := range v.conns {
			t.answers[v.answer(i)]++
			t.sent++
		}
		if rate > 0 {
			pause(ctx, time.Until(began.Add(time.Duration(float64(t.sent)/rate*float64(time.Second)))))
		}
	}
	end()
	return t
}

// send sends a part of each request.
func (v *volley) send(part func(request string) string) {
	for i, c := range v.conns {
		_ = c.SetDeadline(time.Now().Add(answerPatient))
		// Where it fails, there is no answer either, or it is there already.
		_, _ = io.WriteString(c, part(v.requests[i%len(v.requests)]))
	}
}

// answer reads the answer to one request.
func (v *volley) answer(i int) answer {
	r, err := http.ReadResponse(v.replies[i], nil)
	if err != nil {
		return noAnswer
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return noAnswer
	}
	return answerOf(r.StatusCode, string(body))
}
