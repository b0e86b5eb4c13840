package openapi

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"flashsale/internal/testkit"
)

// small is a description with one of each thing.
const small = `
openapi: 3.1.0
info:
  {title: small, version: '1', summary: A shop.,
   description: "All of ` + "`it`" + `.\n\n    one\n      two\n\nAnd <more>."}
tags: [{name: sale, description: What a buyer needs.}]
security: [{token: []}]
paths:
  /foods/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}, example: 7}
    get:
      tags: [sale]
      operationId: showFood
      summary: Show a food
      x-flag: '-foods'
      responses:
        '200':
          description: A food.
          headers: {X-Request-Id: {schema: {type: string}}}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Food'}
              example: {id: 7}
            text/csv: {schema: {type: string}}
        '204': {description: None.}
        '503':
          description: Later.
          headers: {Retry-After: {required: true, schema: {type: integer}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/TOO_BUSY'}}}
  /foods/new:
    post:
      tags: [sale]
      operationId: invent
      security: [{}, {token: []}]
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string, maxLength: 9}, example: k}]
      requestBody:
        content: {application/json: {schema: {$ref: '#/components/schemas/Food'}, example: {id: 8}}}
      responses:
        '200':
          description: What comes.
          content:
            application/jsonl: {schema: {type: string, contentSchema: {$ref: '#/components/schemas/Food'}}}
        '404': {$ref: '#/components/responses/NotFound'}
  /watch:
    get:
      tags: [sale]
      operationId: watch
      responses:
        '200':
          description: Events.
          content:
            text/event-stream:
              schema: {type: string, contentSchema: {oneOf: [{$ref: '#/components/schemas/Food'}]}}
              x-events: [food]
x-other-replies:
  '204': {$ref: '#/components/responses/Options'}
  '404': {$ref: '#/components/responses/NotFound'}
components:
  securitySchemes: {token: {type: apiKey, in: header, name: Access-Token}}
  responses:
    Options: {description: The methods., headers: {Allow: {required: true, schema: {type: string}}}}
    NotFound:
      description: No such path.
      content:
        application/json:
          schema:
            oneOf: [{$ref: '#/components/schemas/NOT_FOUND'}, {$ref: '#/components/schemas/TOO_BUSY'}]
  schemas:
    Food:
      type: object
      required: [id]
      additionalProperties: false
      properties: {id: {type: integer, minimum: 1}, at: {type: string, format: date-time}}
    NOT_FOUND:
      description: It is not there.
      type: object
      required: [code, message]
      additionalProperties: false
      properties: {code: {const: NOT_FOUND}, message: {enum: [去了, gone]}}
    TOO_BUSY:
      type: object
      required: [code, message]
      additionalProperties: false
      properties: {code: {const: TOO_BUSY}, message: {type: string, pattern: ^wait}}
`

func TestCheck(t *testing.T) {
	d, err := Parse([]byte(small))
	testkit.Must(t, err)
	const busy = `{"code":"TOO_BUSY","message":"wait"}`
	for _, test := range []struct {
		method, target string
		status         int
		header, body   string
		want           string // in the error, "" for none
	}{
		{"GET", "/foods/7", 200, "", `{"id":7}`, ""},
		{"GET", "/foods/7?x=1", 200, "", `{"id":7,"at":"2026-11-22T10:00:00.123Z"}`, ""},
		{"GET", "/%66oods/7", 200, "X-Request-Id: r", `{"id":7}`, ""},
		{"GET", "/foods/a%2fb", 200, "", `{"id":7}`, ""},
		{"HEAD", "/foods/7", 200, "", "", ""},
		{"GET", "/foods/7", 200, "Content-Type: text/csv", "7\n", ""},
		{"GET", "/foods/7", 204, "Content-Type: ", "", ""},
		{"GET", "/foods/7", 503, "Retry-After: 1", busy, ""},
		{"GET", "/gone", 404, "", `{"code":"NOT_FOUND","message":"gone"}`, ""},
		{"POST", "/foods/new", 200, "Content-Type: application/jsonl", "{\"id\":7}\n{\"id\":8}\n", ""},
		{"GET", "/foods/new", 404, "", `{"code":"NOT_FOUND","message":"gone"}`, ""},
		{"PUT", "/foods/7", 404, "", busy, ""},
		{"OPTIONS", "/foods/7", 204, "Content-Type: \nAllow: GET", "", ""},

		{"GET", "/foods/7", 201, "", `{"id":7}`, "status 201 is not described"},
		{"GET", "/gone", 200, "", `{"id":7}`, "status 200 is not described"},
		{"GET", "/foods", 200, "", `{"id":7}`, "status 200 is not described"},
		{"GET", "/foods/", 200, "", `{"id":7}`, "status 200 is not described"},
		{"GET", "/foods/7", 404, "", `{"code":"NOT_FOUND","message":"gone"}`, "status 404 is not described"},
		{"PUT", "/foods/7", 204, "Content-Type: \nAllow: GET", "", "status 204 is not described"},
		{"OPTIONS", "/foods/7", 204, "Content-Type: ", "", "Allow"},
		{"GET", "/foods/7", 200, "X-Other: 1", `{"id":7}`, "X-Other"},
		{"GET", "/foods/7", 503, "", busy, "Retry-After"},
		{"GET", "/foods/7", 503, "Retry-After: soon", busy, "integer"},
		{"GET", "/foods/7", 200, "Content-Type: text/html", "7", `type "text/html" is not described`},
		{"GET", "/foods/7", 204, "", "7", "is not described"},
		{"GET", "/foods/7", 200, "", `{"id":7,"x":1}`, "x"},
		{"GET", "/foods/7", 200, "", `{"id":"7"}`, "integer"},
		{"GET", "/foods/7", 200, "", `{}`, "id"},
		{"GET", "/foods/7", 200, "", `{"id":7`, "cannot be decoded"},
		{"GET", "/foods/7", 200, "", `null`, "null"},
		{"GET", "/foods/7", 200, "", ``, "empty"},
		{"GET", "/foods/7", 200, "", `{"id":7,"at":"today"}`, "date-time"},
		{"GET", "/gone", 404, "", `{"code":"NOT_FOUND","message":"Gone"}`, "gone"},
		{"POST", "/foods/new", 200, "Content-Type: application/jsonl", "{\"id\":7}\n{}\n", "id"},
		{"POST", "/foods/new", 200, "Content-Type: application/jsonl", "{\"id\":7}\n\n", "empty"},
		{"GET", "/foods/new", 200, "", `{"id":7}`, "status 200 is not described"},
	} {
		r := Reply{Method: test.method, Target: test.target, Status: test.status, Body: []byte(test.body),
			Header: http.Header{"Date": {"now"}, "Content-Type": {"application/json"}}}
		for line := range strings.SplitSeq(test.header, "\n") {
			if name, value, found := strings.Cut(line, ": "); found && value == "" {
				r.Header.Del(name)
			} else if found {
				r.Header.Set(name, value)
			}
		}
		err := d.Check(r)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test, err, test.want)
		}
	}
}

func TestCheckEvent(t *testing.T) {
	d, err := Parse([]byte(small))
	testkit.Must(t, err)
	for _, test := range []struct{ path, event, data, want string }{
		{"/watch", "food", `{"id":7}`, ""},
		{"/watch?x=1", "food", `{"id":7}`, ""},
		{"/watch", "food", `{"id":0}`, "minimum"},
		{"/watch", "food", ``, "empty"},
		{"/watch", "other", `{"id":7}`, `event "other" is not described`},
		{"/foods/7", "food", `{"id":7}`, "is not described"},
		{"/gone", "food", `{"id":7}`, "is not described"},
	} {
		err := d.CheckEvent(test.path, test.event, test.data)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestParse(t *testing.T) {
	d, err := Parse([]byte(small))
	testkit.Must(t, err)
	c := d.Calls()[0]
	if len(d.Calls()) != 3 || c.Method != "GET" || c.Path != "/foods/{id}" || c.ID() != "showFood" ||
		len(c.Security) != 1 || c.Security[0] != "token" {
		t.Errorf("calls %+v", d.Calls())
	}
	errors := d.Errors()
	if len(errors) != 2 || errors[0].Code != "NOT_FOUND" ||
		strings.Join(errors[0].Messages, " ") != "去了 gone" ||
		strings.Join(errors[0].Statuses, " ") != "404" || errors[1].Messages != nil ||
		strings.Join(errors[1].Statuses, " ") != "404 503" {
		t.Errorf("errors %+v", errors)
	}
	for text, want := range map[string]string{
		"x": "cannot read", strings.Replace(small, "x-other-replies", "x-others", 1): "no x-other-replies",
		strings.Replace(small, "responses/Options", "responses/Gone", 1): "does not exist",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestJSON(t *testing.T) {
	const text = "b: &b [1, 2.5, 'x', \"<é>\", null, true]\na: {'1': *b, e: {}, l: []}\nt: |-\n  x\n  y\n"
	const list = `[1,2.5,"x","<é>",null,true]`
	const want = `{"b":` + list + `,"a":{"1":` + list + `,"e":{},"l":[]},"t":"x\ny"}`
	if got, err := JSON([]byte(text)); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := JSON([]byte("{")); err == nil {
		t.Error("what is no YAML is no error")
	}
}

func TestPage(t *testing.T) {
	got, err := Page([]byte(small))
	testkit.Must(t, err)
	for _, part := range []string{"<title>small: the API</title>",
		"<p>All of <code>it</code>.</p>", "<p>And &lt;more&gt;.</p>",
		`<a class="path" href="#showFood">/foods/{id}</a>`, "for users · flag -foods", "<code>7</code>",
		"<code>Retry-After</code>", `<a href="#TOO_BUSY">`, "{&#34;id&#34;:7}",
		`<tr><td><code>id</code></td><td>integer ≥ 1</td><td></td></tr>`,
		`<tr><td><code>at</code> <span class="who">optional</span></td><td>time</td><td></td></tr>`,
		`<pre tabindex="0">curl &#34;$host/foods/7&#34; -H &#34;Access-Token: $token&#34;</pre>`,
		`curl &#34;$host/foods/new&#34; -H &#34;Idempotency-Key: $key&#34; -d &#39;{&#34;id&#34;:8}&#39;`,
		"for anybody", "<p>Each line is an object:</p>", "<p><code>food</code></p>",
		"string, at most 9 characters",
		`<pre tabindex="0">one
  two</pre>`, `<td><span lang="zh">去了</span><br>gone</td>`} {
		if !strings.Contains(string(got), part) {
			t.Errorf("the page has no %q", part)
		}
	}
	if _, err := Page([]byte("x")); err == nil {
		t.Error("what is no description is no error")
	}
}

// Tests that run side by side share a description.
func TestCheckAtOnce(t *testing.T) {
	d, err := Parse([]byte(small))
	testkit.Must(t, err)
	var checks sync.WaitGroup
	for range 4 {
		checks.Go(func() {
			reply := Reply{Method: "GET", Target: "/foods/7", Status: 200, Body: []byte(`{"id":7}`),
				Header: http.Header{"Content-Type": {"application/json"}}}
			if err := errors.Join(d.Check(reply), d.CheckEvent("/watch", "food", `{"id":7}`)); err != nil {
				t.Error(err)
			}
		})
	}
	checks.Wait()
}

func TestCheckBody(t *testing.T) {
	d, err := Parse([]byte(small))
	testkit.Must(t, err)
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/foods/new", `{"id":7}`, ""},
		{"POST", "/foods/new", `{"id":0}`, "minimum"},
		{"POST", "/foods/new", `{}`, "id"},
		{"POST", "/foods/new", ``, "empty"},
		{"GET", "/foods/7", `{"id":7}`, "a body is not described"},
		{"GET", "/gone", `{"id":7}`, "a body is not described"},
	} {
		err := d.CheckBody(test.method, test.path, test.body)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
