package handlers

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/handlers/web"
	"flashsale/internal/openapi"
	"flashsale/internal/rooms/accounts"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/demand"
	"flashsale/internal/rooms/events"
	"flashsale/internal/rooms/images"
	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/live"
	"flashsale/internal/rooms/operators"
	"flashsale/internal/rooms/payments"
	"flashsale/internal/rooms/presence"
	"flashsale/internal/rooms/repeats"
	"flashsale/internal/rooms/rules"
	"flashsale/internal/rooms/sessions"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/testkit"
	"flashsale/redisx/held"
	"flashsale/tokens"
)

var update = flag.Bool("update", false, "write openapi.json and docs.html")

// described is the description, read once.
var described = sync.OnceValues(func() (*openapi.Description, error) { return openapi.Parse(description) })

func readDescription(tb testing.TB) *openapi.Description {
	tb.Helper()
	d, err := described()
	testkit.Must(tb, err)
	return d
}

// TestDescription holds what is sent equal to openapi.yaml.
func TestDescription(t *testing.T) {
	source, err := os.ReadFile("openapi.yaml")
	testkit.Must(t, err)
	for name, file := range map[string]struct {
		sent    []byte
		convert func([]byte) ([]byte, error)
	}{"openapi.json": {description, openapi.JSON}, "docs.html": {docsPage, openapi.Page}} {
		want, err := file.convert(source)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case *update:
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Error(err)
			}
		case string(want) != string(file.sent):
			t.Errorf("%s is not what openapi.yaml makes: go test ./handlers -run TestDescription -update", name)
		}
	}
}

// describedPattern is the path of a description as the pattern of a route.
func describedPattern(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// wholeTable returns a server that nothing serves, and the routes of the sale and of all rooms.
func wholeTable(t *testing.T) (s *shop, table []Route) {
	t.Helper()
	testkit.KeepLog(t)
	keys, err := tokens.New("aaaaaaaa", secret)
	testkit.Must(t, err)
	s = &shop{keys: keys, Server: &Server{cfg: Config{Keys: keys, ServiceToken: serviceToken}}}
	table = s.saleRoutes()
	for _, join := range []Room{
		Push(PushPlace{Address: "127.0.0.1:8090"}, "/connection/websocket", time.Minute),
		Repeats(new(repeats.Counter), []VKGroup{{Secret: "secret"}}),
		Limits(limits.New(limits.Config{Rules: []limits.Rule{}})), Blocklist(new(blocklist.Blocklist)),
		Traffic(new(traffic.Traffic)), Live(new(live.Hub)), Images(new(images.Set)),
		Page(new(web.Site), PushPlace{}), Accounts(new(accounts.Accounts)),
		Sessions(new(sessions.Sessions)), Presence(new(presence.Presence)),
		Holds(new(held.Orders), nil), Corrections(new(held.Orders)), Payments(new(payments.Payments)),
		Threads(Conversation{}), Sums(new(demand.Demand)), NextSale(nil), Rules(new(rules.Rules)),
		Events(nil, new(events.Webhooks)),
		Operators(operators.New(operators.Config{List: staff, Hash: testkit.FastHash})), OIDC(nil),
	} {
		table = append(table, join(s.Server)...)
	}
	return s, table
}

// Every route is described, with those who may call it, and nothing else is.
func TestDescriptionHasRoutes(t *testing.T) {
	s, table := wholeTable(t)
	table = append(table, Route{Method: "OPTIONS", Pattern: "/docs", Access: s.anybody})
	security := map[string][]string{}
	for _, c := range readDescription(t).Calls() {
		security[c.Method+" "+describedPattern(c.Path)] = c.Security
	}
	for _, line := range table {
		call := line.Method + " " + line.Pattern
		is, found := security[call]
		if !found {
			t.Errorf("openapi.yaml does not have %s", call)
			continue
		}
		delete(security, call)
		if slices.Contains(is, "") { // a token shows more
			is = nil
		}
		if slices.Sort(is); !slices.Equal(is, s.admitted(line.Access)) {
			t.Errorf("%s: openapi.yaml lets in %q, the server %q", call, is, s.admitted(line.Access))
		}
	}
	if left := slices.Sorted(maps.Keys(security)); len(left) > 0 {
		t.Errorf("openapi.yaml has more than routes.go and the rooms of this test: %q", left)
	}
}

// admitted are the security schemes that an access lets in, as in the description.
func (s *shop) admitted(may access) (schemes []string) {
	passes := func(uri string, header ...string) bool {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(uri)
		for i := 0; i < len(header); i += 2 {
			ctx.Request.Header.Set(header[i], header[i+1])
		}
		_, ok := may(&ctx)
		return ok
	}
	if passes("/x") {
		return nil
	}
	add := func(scheme, token string) (found bool) {
		for name, passes := range map[string]bool{scheme: passes("/x", "Access-Token", token),
			scheme + "InQuery": passes("/x?access_token=" + token)} {
			if passes {
				schemes, found = append(schemes, name), true
			}
		}
		return found
	}
	add("token", s.token(2))
	_ = add("viewerToken", s.tokenNamed("vera")) || add("operatorToken", s.tokenNamed("olaf")) ||
		add("adminToken", s.tokenNamed("adam"))
	if passes("/x", "Authorization", "Bearer "+serviceToken) {
		schemes = append(schemes, "service")
	}
	slices.Sort(schemes)
	return schemes
}

// Every error is described, with its status and message, and nothing else is.
func TestDescriptionHasErrors(t *testing.T) {
	left := map[string]openapi.Error{}
	for _, e := range readDescription(t).Errors() {
		left[e.Code] = e
	}
	made := []*failure{malformedDocument(1), unknownField(nil, nil), tooFewLeft(0, 1), nextFailed("x")}
	for _, f := range append(slices.Clone(failures), made...) {
		code := string(codeOf(f.body))
		is, found := left[code]
		if found {
			delete(left, code)
		}
		status, want := strconv.Itoa(f.status), []string{messageOf(t, f.body), messageOf(t, f.english)}
		if slices.Contains(made, f) || f == errUserNotFound { // described by a pattern
			want = nil
		}
		if !slices.Contains(is.Statuses, status) || !slices.Equal(is.Messages, want) {
			t.Errorf("%s: described as %q with status %q, is %q with %s", code, is.Messages, is.Statuses,
				want, status)
		}
	}
	if codes := slices.Sorted(maps.Keys(left)); len(codes) > 0 {
		t.Errorf("openapi.yaml has more errors than errors.go: %q", codes)
	}
}

func messageOf(t *testing.T, body []byte) string {
	t.Helper()
	var told struct{ Message string }
	testkit.Must(t, json.Unmarshal(body, &told))
	return told.Message
}

// What a change of the sale must have is described: the same bodies are refused there and by the server.
func TestDescriptionOfChange(t *testing.T) {
	for body, taken := range map[string]bool{
		`{"state":"paused"}`: true, `{"closes_at":null}`: true, `{"opens_at":"2100-01-02T03:04:05Z"}`: true,
		`{"id":"a","state":"open"}`: true, `{"id":"a"}`: false, `{}`: false,
		`{"by":"x","state":"open"}`: false,
	} {
		err := readDescription(t).CheckBody("PUT", "/admin/sale", body)
		if (err == nil) != taken {
			t.Errorf("%s: described %t, want %t (%v)", body, !taken, taken, err)
		}
		members := [4]member{{name: "state"}, {name: "opens_at"}, {name: "closes_at"}, {name: "id"}}
		f := readBody([]byte(body), members[:])
		if f == nil {
			_, f = readChange([3]member(members[:3]))
		}
		if (f == nil) != taken {
			t.Errorf("%s: the server takes it: %t, want %t", body, !taken, taken)
		}
	}
}

// The calls that refuse unknown fields are described so; those of the contest, VK's and a provider's take
// any. The names of all operations begin with a verb.
func TestDescriptionOfFields(t *testing.T) {
	lenient := []string{"logIn", "addToCart", "placeOrder", "receiveVK", "receivePaymentEvent"}
	verb := regexp.MustCompile(`^[a-z]+[A-Z][A-Za-z]*$`)
	for _, c := range readDescription(t).Calls() {
		if !verb.MatchString(c.ID()) {
			t.Errorf("%s %s is named %s", c.Method, c.Path, c.ID())
		}
		if closed, isObject := c.Fields(); isObject && closed == slices.Contains(lenient, c.ID()) {
			t.Errorf("%s: unknown fields are described as refused: %t", c.ID(), closed)
		}
	}
}

// A key under which another body is a 409 is described so, and the other one is not.
func TestDescriptionOfKeys(t *testing.T) {
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	testkit.Must(t, json.Unmarshal(description, &d))
	for path, reused := range map[string]bool{"/orders": false, "/admin/foods/{id}/stock": true} {
		var post struct {
			Parameters []struct{ Name, Description string }
			Responses  map[string]any
		}
		if err := json.Unmarshal(d.Paths[path]["post"], &post); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(post.Parameters) == 0 || post.Parameters[0].Name != "Idempotency-Key" {
			t.Fatalf("%s: parameters %+v", path, post.Parameters)
		}
		text := post.Parameters[0].Description
		if _, found := post.Responses["409"]; found != reused || strings.Contains(text, "409") != reused ||
			strings.Contains(text, "also when") == reused {
			t.Errorf("%s: a 409 is described %t, want %t: %s", path, found, reused, text)
		}
	}
}

// The description and its page come without a token, and the page needs nothing else.
func TestDocs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.expect(t, 0, "GET", "/openapi.json", "", 200, string(description))
		status, body, header := s.call(t, 0, "GET", "/docs", "")
		if status != 200 || body != string(docsPage) || header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("/docs: %d %v", status, header)
		}
		if !strings.Contains(body, `<span class="who">for anybody</span>`) {
			t.Error("the page does not tell which calls are for anybody")
		}
		for _, want := range []string{`<a href="/">Back to the sale</a>`, `<link rel="icon" href="/favicon.ico"`} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		const before = "default-src 'none'; img-src 'self'; style-src 'sha256-"
		const behind = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, before) || !strings.HasSuffix(policy, behind) {
			t.Errorf("policy %q", policy)
		}
		for _, banned := range []string{"<script", " style=", " src=", "@import", "url(", "https://", "http://"} {
			if strings.Contains(body, banned) {
				t.Errorf("the page has %q, which the policy or a place without a network refuses", banned)
			}
		}
		for _, c := range readDescription(t).Calls() {
			if !strings.Contains(body, `href="#`+c.ID()+`">`+c.Path+`</a>`) {
				t.Errorf("the page does not list %s %s; openapi.yaml must declare its tag", c.Method, c.Path)
			}
		}
	})
}

// Who has them gets no body, and who can unzip them gets a third of the bytes or less.
func TestDocsAreCached(t *testing.T) { onBoth(t, testDocsAreCached) }

func testDocsAreCached(t *testing.T, s *shop) {
	s.unchecked() // the description is of what is zipped
	for path, want := range map[string][]byte{"/openapi.json": description, "/docs": docsPage} {
		_, body, h := s.call(t, 0, "GET", path, "", "Accept-Encoding", "gzip")
		r, err := gzip.NewReader(strings.NewReader(body))
		testkit.Must(t, err)
		text, err := io.ReadAll(r)
		if err != nil || string(text) != string(want) || h.Get("Content-Encoding") != "gzip" ||
			len(body) > len(want)/3 {
			t.Errorf("%s: %d bytes for %d, %v, %v", path, len(body), len(want), h, err)
		}
		for tag, status := range map[string]int{h.Get("Etag"): 304, `"x"`: 200} {
			got, body, h := s.call(t, 0, "GET", path, "", "Accept-Encoding", "gzip", "If-None-Match", tag)
			if got != status || (got == 304) != (body == "") || h.Get("Cache-Control") != "no-cache" ||
				h.Get("Content-Security-Policy") != docsPolicy {
				t.Errorf("%s, If-None-Match %s: %d, %d bytes, %v", path, tag, got, len(body), h)
			}
		}
	}
}
