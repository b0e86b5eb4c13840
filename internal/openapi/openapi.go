// Package openapi reads the description of the server's API, for tests and for the bench. The server does
// not import it: a test in handlers makes the files that the server sends (JSON, Page) from
// handlers/openapi.yaml.
//
// Check compares replies with the description: status, headers and body. Anything that is not described is a
// fault. It is slow, some tens of microseconds for a small body: a load checks samples.
package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/config"
	faults "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/responses"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
)

// version is that of OpenAPI which the description is written in.
const version = 3.1

const jsonKind = "application/json"

// Description is a description of an API. Several goroutines may use it.
type Description struct {
	model   *v3.Document
	calls   []Call
	other   map[string]*v3.Response // to requests that match no call, by status
	errors  []Error
	options []config.Option // for bodies
	strict  []config.Option // for headers: one that is not described is a fault

	reading sync.Mutex // the library writes to the schemas that it reads
}

// Call is a method of a path.
type Call struct {
	Method, Path string   // as "GET" and "/carts/{id}"
	Security     []string // names of the schemes that each let a caller in; "" where no token is needed
	item         *v3.PathItem
	operation    *v3.Operation
	parts        []string
	responses    map[string]*v3.Response // by status
}

// Parse reads a description, as YAML or JSON.
func Parse(text []byte) (*Description, error) {
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the description of the API: %w", err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, fmt.Errorf("cannot read the description of the API: %w", err)
	}
	d := &Description{model: &model.Model, other: map[string]*v3.Response{}}
	bodies := config.NewValidationOptions(config.WithFormatAssertions()) // with one cache of compiled schemas
	d.options = []config.Option{config.WithExistingOpts(bodies)}
	// Headers that every reply may have are described once, in words.
	d.strict = append(d.options, config.WithStrictMode(), config.WithStrictIgnoredHeadersExtra("Date",
		"Content-Length", "Connection", "Transfer-Encoding", "Server",
		"Cache-Control", "X-Content-Type-Options"))
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			d.calls = append(d.calls, d.newCall(strings.ToUpper(method), path, item, operation))
		}
	}
	if err := d.readOther(); err != nil {
		return nil, err
	}
	d.readErrors()
	return d, nil
}

func (d *Description) newCall(method, path string, item *v3.PathItem, operation *v3.Operation) Call {
	c := Call{Method: method, Path: path, item: item, operation: operation, parts: strings.Split(path, "/"),
		responses: map[string]*v3.Response{}}
	security := operation.Security
	if security == nil {
		security = d.model.Security
	}
	for _, requirement := range security {
		name := ""
		for scheme := range requirement.Requirements.KeysFromOldest() {
			name = scheme
		}
		c.Security = append(c.Security, name)
	}
	for status, response := range operation.Responses.Codes.FromOldest() {
		c.responses[status] = response
	}
	return c
}

// get returns the value of a key; the map may be nil.
func get[V any](m *orderedmap.Map[string, V], key string) (value V, found bool) {
	if m == nil {
		return value, false
	}
	return m.Get(key)
}

// readOther reads x-other-replies: its values are references to responses.
func (d *Description) readOther() error {
	node, _ := get(d.model.Extensions, "x-other-replies")
	var references map[string]map[string]string
	if node == nil || node.Decode(&references) != nil {
		return errors.New("the description of the API has no x-other-replies")
	}
	for status, reference := range references {
		name := reference["$ref"][strings.LastIndexByte(reference["$ref"], '/')+1:]
		response, found := get(d.model.Components.Responses, name)
		if !found {
			return fmt.Errorf("x-other-replies: there is no response %q", name)
		}
		d.other[status] = response
	}
	return nil
}

// ID is the name of the call's operation.
func (c *Call) ID() string { return c.operation.OperationId }

// Fields reports whether the body of a request is an object of JSON, and whether it must not have other
// fields than those described.
func (c *Call) Fields() (closed, isObject bool) {
	if c.operation.RequestBody == nil {
		return false, false
	}
	media, found := get(c.operation.RequestBody.Content, jsonKind)
	if !found {
		return false, false
	}
	all := media.Schema.Schema().OneOf
	if all == nil {
		all = []*base.SchemaProxy{media.Schema}
	}
	closed = true
	for _, proxy := range all {
		schema := proxy.Schema()
		isObject = slices.Contains(schema.Type, "object")
		more := schema.AdditionalProperties
		closed = closed && more != nil && more.IsB() && !more.B
	}
	return closed, isObject
}

// Calls are all calls, in the order of the description.
func (d *Description) Calls() []Call { return d.calls }

// Errors are all errors, in the order of the description.
func (d *Description) Errors() []Error { return d.errors }

// Reply is a reply to a request.
type Reply struct {
	Method, Target string // of the request, as it was sent
	Status         int
	Header         http.Header
	Body           []byte
}

// Check returns how a reply differs from the description, nil if it does not differ.
func (d *Description) Check(r Reply) error {
	d.reading.Lock()
	defer d.reading.Unlock()
	response := d.find(r.Method, partsOf(r.Target), r.Status)
	if response == nil {
		return fmt.Errorf("%s %s: status %d is not described (%.200s)", r.Method, r.Target, r.Status, r.Body)
	}
	if err := d.compare(r, response); err != nil {
		return fmt.Errorf("%s %s: %d %.200s: %w", r.Method, r.Target, r.Status, r.Body, err)
	}
	return nil
}

// partsOf are the parts of the path of a request, decoded. An encoded slash does not end a part.
func partsOf(target string) []string {
	path, _, _ := strings.Cut(target, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if decoded, err := url.PathUnescape(part); err == nil {
			parts[i] = decoded
		}
	}
	return parts
}

// find returns the response that is described for a status, nil if there is no such response.
func (d *Description) find(method string, parts []string, status int) *v3.Response {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if c := d.callOf(method, parts); c != nil {
		return c.responses[strconv.Itoa(status)]
	}
	if status == http.StatusNoContent && method != http.MethodOptions {
		return nil
	}
	return d.other[strconv.Itoa(status)]
}

// callOf returns the call of a request, nil if it is not described. A path without parameters comes before
// a path with them.
func (d *Description) callOf(method string, parts []string) *Call {
	spelledOut := slices.ContainsFunc(d.calls, func(c Call) bool { return slices.Equal(c.parts, parts) })
	for i := range d.calls {
		c := &d.calls[i]
		if c.Method == method && (slices.Equal(c.parts, parts) || !spelledOut && c.matches(parts)) {
			return c
		}
	}
	return nil
}

func (c *Call) matches(parts []string) bool {
	return slices.EqualFunc(c.parts, parts, func(own, part string) bool {
		return own == part || strings.HasPrefix(own, "{") && part != ""
	})
}

// compare compares a reply with a response of the description.
func (d *Description) compare(r Reply, response *v3.Response) error {
	request := &http.Request{Method: r.Method, URL: &url.URL{Path: r.Target}}
	got := &http.Response{StatusCode: r.Status, Header: r.Header}
	_, wrong := responses.ValidateResponseHeaders(request, got, response.Headers, r.Target,
		strconv.Itoa(r.Status), d.strict...)
	if len(wrong) > 0 {
		return told(wrong)
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	content, described := get(response.Content, kind)
	switch body := string(bytes.TrimSpace(r.Body)); {
	case response.Content == nil && kind == "" && body == "":
		return nil
	case !described:
		return fmt.Errorf("a body of type %q is not described", kind)
	case r.Method == http.MethodHead:
		return nil
	case kind == jsonKind:
		return d.compareText(r, r.Body, content.Schema.Schema())
	}
	return d.compareLines(r, content)
}

// compareText compares JSON of a reply with a schema.
func (d *Description) compareText(r Reply, text []byte, schema *base.Schema) error {
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		return errors.New("the JSON is empty or null") // the library takes both for valid
	}
	_, wrong := responses.ValidateResponseSchema(&responses.ValidateResponseSchemaInput{
		Request: &http.Request{Method: r.Method, URL: &url.URL{Path: r.Target}},
		Response: &http.Response{StatusCode: r.Status, Header: http.Header{"Content-Type": {jsonKind}},
			Body: io.NopCloser(bytes.NewReader(text))},
		Schema: schema, Version: version, Options: d.options})
	return told(wrong)
}

// told is one error of all faults, each on a line.
func told(wrong []*faults.ValidationError) error {
	var all []error
	for _, w := range wrong {
		all = append(all, fmt.Errorf("%s: %s", w.Message, w.Reason))
		for _, detail := range w.SchemaValidationErrors {
			all = append(all, errors.New(detail.Reason))
		}
	}
	return errors.Join(all...)
}

// CheckBody returns how the JSON of a request differs from the body that is described for the call, nil
// where it does not.
func (d *Description) CheckBody(method, path, body string) error {
	d.reading.Lock()
	defer d.reading.Unlock()
	c := d.callOf(method, partsOf(path))
	if c == nil || c.operation.RequestBody == nil {
		return fmt.Errorf("%s %s: a body is not described", method, path)
	}
	content, described := get(c.operation.RequestBody.Content, jsonKind)
	if !described {
		return fmt.Errorf("%s %s: a body of JSON is not described", method, path)
	}
	// JSON of a request is compared with its schema in the same way as JSON of a reply.
	request := Reply{Method: method, Target: path, Status: http.StatusOK}
	return d.compareText(request, []byte(body), content.Schema.Schema())
}
