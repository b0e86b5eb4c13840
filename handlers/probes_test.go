package handlers

import (
	"fmt"
	"strings"
	"testing"
)

// rawProbe is what an outside client sends over one connection, byte by byte, and the outcomes that the RFC
// allows. The expectations come from RFC 9110 and 9112 and the contract, not from the code: where the RFC
// leaves a choice, each choice passes.
type rawProbe struct {
	rule string // RFC and section
	name string
	send string // {token}, {root}, {cart} and {%cart} stand for what only the running server knows
	want string // "ANSWER... keep" or "ANSWER... close", several of them with " or " between
}

// rawAnswers are the replies that probes name. A reply without a name is called by its status.
var rawAnswers = []struct {
	name   string
	status int
	body   string // "…" stands for what differs
}{
	{"alive", 200, `{"status":"alive"}`},
	{"login", 200, `{"user_id":2,"username":"user2","access_token":"…"}`},
	{"foods", 200, `[{"id":1,"price":…}]`},
	{"none", 200, `[]`},
	{"BAD_REQUEST", 400, `{"code":"BAD_REQUEST","message":"无法解析请求"}`},
	{"EMPTY_REQUEST", 400, `{"code":"EMPTY_REQUEST","message":"请求体为空"}`},
	{"MALFORMED_JSON", 400, `{"code":"MALFORMED_JSON","message":"格式错误"}`},
	{"INVALID_TOKEN", 401, `{"code":"INVALID_ACCESS_TOKEN","message":"无效的令牌"}`},
	{"NOT_FOUND", 404, `{"code":"NOT_FOUND","message":"路径不存在"}`},
	{"NO_CART", 404, `{"code":"CART_NOT_FOUND","message":"篮子不存在"}`},
	{"NO_METHOD", 405, `{"code":"METHOD_NOT_ALLOWED","message":"方法不允许"}`},
	{"BODY_TOO_LARGE", 413, `{"code":"BODY_TOO_LARGE","message":"请求体过大"}`},
	{"URL_TOO_LONG", 414, `{"code":"URL_TOO_LONG","message":"请求地址过长"}`},
	{"HEAD_TOO_LARGE", 431, `{"code":"HEADER_TOO_LARGE","message":"请求头过大"}`},
}

// Outcomes that many probes share.
const (
	wantAlive  = "alive keep"
	wantLogin  = "login keep"
	wantBad    = "BAD_REQUEST close"
	wantAbsent = "NOT_FOUND keep"

	mayAlive  = wantAlive + " or " + wantBad
	mayLogin  = wantLogin + " or " + wantBad
	mayAbsent = wantAbsent + " or " + wantBad

	// wantLimit leaves open which limit it was.
	wantLimit = "BODY_TOO_LARGE close or HEAD_TOO_LARGE close or " + wantBad
)

// What probes are written with.
const (
	rawLogin   = `{"username":"user2","password":"pass2"}` // 39 bytes, 27 in hex
	rawLength  = "Content-Length: 39\r\n"
	rawChunked = "Transfer-Encoding: chunked\r\n"
	rawOneShot = "27\r\n" + rawLogin + "\r\n0\r\n\r\n"

	// rawFollower comes behind every probe: its food list tells a connection that is kept and in step.
	rawFollower = "GET /foods HTTP/1.1\r\nHost: shop\r\nAccess-Token: {token}\r\nConnection: close\r\n\r\n"
)

// Heads without the empty line at their end.
const (
	shopHost  = "Host: shop\r\n"
	getHead   = "GET /healthz HTTP/1.1\r\n" + shopHost
	loginHead = "POST /login HTTP/1.1\r\n" + shopHost
)

func rawLine(line string) string { return line + "\r\nHost: shop\r\n\r\n" }

func rawGet(fields string) string { return getHead + fields + "\r\n" }

func rawPost(fields, body string) string {
	return loginHead + fields + "\r\n" + body
}

// rawChunks sends a body that is written as chunks already.
func rawChunks(body string) string { return rawPost(rawChunked, body) }

// each makes one probe of every value, written by send.
func each(rule, name string, send func(value string) string, want string, values ...string) []rawProbe {
	probes := make([]rawProbe, len(values))
	for i, v := range values {
		probes[i] = rawProbe{rule, fmt.Sprintf("%s %.60q", name, v), send(v), want}
	}
	return probes
}

var rawTopics = map[string][]rawProbe{
	"request line": requestLineProbes, "target": targetProbes, "version": versionProbes,
	"host": hostProbes, "fields": fieldProbes, "length": lengthProbes, "coding": codingProbes,
	"chunks": chunkProbes, "trailers": trailerProbes, "connection": connectionProbes,
	"paths": pathProbes, "methods": methodProbes, "pipelines": pipelineProbes,
	"expect": expectWholeProbes, "limits": limitProbes,
}

func TestProbes(t *testing.T) { onBoth(t, testProbes) }

func testProbes(t *testing.T, s *shop) {
	s.takeLong()
	address, fill := s.listen(t), s.filler()
	for topic, probes := range rawTopics {
		t.Run(topic, func(t *testing.T) {
			for _, p := range probes {
				t.Run(p.rule+" "+p.name, func(t *testing.T) {
					t.Parallel()
					talk(t, address, fill.Replace(p.send+rawFollower), "").check(t, p.want)
				})
			}
		})
	}
}

// Nothing comes behind these: a server that waits for more closes without a word when the time is up.
func TestProbesThatEndEarly(t *testing.T) { onBoth(t, testProbesThatEndEarly) }

func testProbesThatEndEarly(t *testing.T, s *shop) {
	address := s.listen(t)
	t.Run("all", func(t *testing.T) {
		for _, p := range unfinishedProbes {
			t.Run(p.rule+" "+p.name, func(t *testing.T) {
				t.Parallel()
				talk(t, address, p.send, "").check(t, p.want)
			})
		}
	})
}

// filler puts the server's tokens and cart IDs into probes.
func (s *shop) filler() *strings.Replacer { return s.fillerWith(s.cartOf(2)) }

func (s *shop) fillerWith(cart string) *strings.Replacer {
	encoded := ""
	for _, c := range []byte(cart) {
		encoded += fmt.Sprintf("%%%02X", c)
	}
	return strings.NewReplacer("{token}", s.token(2), "{root}", s.token(1), "{cart}", cart,
		"{%cart}", encoded)
}
