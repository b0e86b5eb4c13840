package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
)

// viewer has read the events of a server. It reads them as they come: a server drops one that does not.
type viewer struct {
	*testing.T
	lines chan string // closed at the end
	err   error       // of the end
	event string      // the name of the one at which the test is
}

const viewerLines = 100_000 // of some hours

// watch opens a stream of events, over a connection of its own. A worker that is being replaced answers 503,
// as to any client, which then comes again.
func (s *server) watch(t *testing.T, headers ...string) *viewer {
	t.Helper()
	r, err := http.NewRequest("GET", "http://"+s.Address+"/live", nil)
	testkit.Must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	viewers := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var reply *http.Response
	testkit.Until(t, "stream of events", func() bool {
		reply, err = viewers.Do(r)
		testkit.Must(t, err)
		t.Cleanup(func() { reply.Body.Close() })
		if reply.StatusCode == http.StatusOK {
			return true
		}
		body, err := io.ReadAll(reply.Body)
		testkit.Must(t, err)
		checkReply(t)("GET", "/live", client.Reply{Status: reply.StatusCode, Header: reply.Header,
			Body: string(body)})
		return false
	})
	v := &viewer{T: t, lines: make(chan string, viewerLines)}
	go func() {
		defer close(v.lines)
		for reader := bufio.NewReader(reply.Body); ; {
			line, err := reader.ReadString('\n')
			if err != nil {
				v.err = err
				return
			}
			v.lines <- line
		}
	}()
	return v
}

// line is the next line, ok is false at the end of the stream. Each event is compared with the description.
func (v *viewer) line() (line string, ok bool) {
	v.Helper()
	select {
	case line, ok = <-v.lines:
	case <-time.After(testkit.Patience):
		v.Fatal("nothing comes")
	}
	if name, found := strings.CutPrefix(line, "event: "); found {
		v.event = strings.TrimSuffix(name, "\n")
	}
	if data, found := strings.CutPrefix(line, "data: "); found {
		checkEvent(v.T, v.event, data)
	}
	return line, ok
}

// rest is all that comes until the end, which must be a clean one.
func (v *viewer) rest() (text string) {
	v.Helper()
	for {
		line, ok := v.line()
		if !ok {
			break
		}
		text += line
	}
	if v.err != io.EOF {
		v.Errorf("the end is %v", v.err)
	}
	return text
}

// next reads the data of the next event of a name into a value.
func (v *viewer) next(name string, into any) {
	v.Helper()
	for {
		line, ok := v.line()
		if !ok {
			v.Fatalf("%v, before an event %s", v.err, name)
		}
		if line != "event: "+name+"\n" {
			continue
		}
		v.line() // the id
		data, _ := v.line()
		testkit.Must(v.T, json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), into))
		return
	}
}

// What one worker tells its viewers is that of the whole server, and goes on when the workers are replaced.
func TestLiveOfTwoWorkers(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-server")
	s := setup{args: append([]string{"-workers", "2"}, loadArgs...)}.serve(t)
	before := s.watch(t)
	l := startLoad(t, s, loadClients, false) // on connections to both workers
	l.awaitOrders(t, 100)
	l.audit(t, s) // it ends the load
	placed := len(s.orders(t))
	await := func(v *viewer) {
		seen := 0
		var history struct {
			Before int
			Parts  []struct{ Orders []int }
		}
		v.next("history", &history)
		for seen = history.Before; len(history.Parts) > 0; history.Parts = history.Parts[1:] {
			for _, n := range history.Parts[0].Orders {
				seen += n
			}
		}
		for deadline := time.Now().Add(testkit.Patience); seen < placed; {
			if time.Now().After(deadline) {
				t.Fatalf("%d orders are shown, want %d", seen, placed)
			}
			var pace struct{ Orders int }
			v.next("pace", &pace)
			seen += pace.Orders
		}
		if seen != placed {
			t.Errorf("%d orders are shown, want %d", seen, placed)
		}
	}
	for range 5 { // the kernel chooses the worker
		await(s.watch(t))
	}
	await(before)

	s.awaitRoll(t, 1)
	if rest := before.rest(); !regexp.MustCompile(`(^\n?|\n\n)retry: \d{4}\n\n$`).MatchString(rest) {
		t.Errorf("at the replacement the viewer reads %q", rest)
	}
	await(s.watch(t))
}
