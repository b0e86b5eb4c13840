package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"

	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
	"go.yaml.in/yaml/v4"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// What the page shows, in the order of the description.
type (
	page struct {
		Title, Summary string
		About          template.HTML
		Tags           []tag
		Other          []reply
		Errors         []errorLine
	}
	tag struct {
		Name  string
		About template.HTML
		Calls []pageCall
	}
	pageCall struct {
		ID, Method, Path, Summary, Flag string
		Curl                            string
		About                           template.HTML
		Access                          []string
		Params                          []param
		Body                            []content
		Replies                         []reply
		Usual                           []string // statuses that are as for any other request
	}
	param struct {
		Name, In, Kind, Example string
		Required                bool
		About                   template.HTML
	}
	reply struct {
		Status   string
		Good     bool
		About    template.HTML
		Headers  []header
		Contents []content
		Codes    []string
	}
	header struct {
		Name  string
		About template.HTML
	}
	content struct {
		Kind    string
		Fields  []field
		Samples []string
		Events  []event
		Lines   []field // of each line of a text
	}
	event struct {
		Name   string
		About  template.HTML
		Fields []field
	}
	errorLine struct {
		Error
		About template.HTML
	}
)

// Page makes the reference page of a description: HTML that needs no other file and no script.
func Page(text []byte) ([]byte, error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, newPage(d))
	return out.Bytes(), err
}

func newPage(d *Description) page {
	info := d.model.Info
	p := page{Title: info.Title, Summary: info.Summary, About: toHTML(info.Description)}
	for _, t := range d.model.Tags {
		one := tag{Name: t.Name, About: toHTML(t.Description)}
		for _, c := range d.calls {
			if c.operation.Tags[0] == t.Name {
				one.Calls = append(one.Calls, d.newPageCall(c))
			}
		}
		p.Tags = append(p.Tags, one)
	}
	for _, status := range slices.Sorted(maps.Keys(d.other)) {
		p.Other = append(p.Other, d.newReply(status, d.other[status]))
	}
	for _, e := range d.errors {
		p.Errors = append(p.Errors, errorLine{e, toHTML(e.about)})
	}
	return p
}

func (d *Description) newPageCall(call Call) pageCall {
	o := call.operation
	c := pageCall{ID: o.OperationId, Method: call.Method, Path: call.Path, Summary: o.Summary,
		About: toHTML(o.Description)}
	if flag, found := get(o.Extensions, "x-flag"); found {
		c.Flag = flag.Value
	}
	c.Access = admitted(call.Security)
	for _, p := range slices.Concat(call.item.Parameters, o.Parameters) {
		required := p.Required != nil && *p.Required
		c.Params = append(c.Params, param{p.Name, p.In, kindOf(p.Schema.Schema()), sample(p.Example), required,
			toHTML(p.Description)})
	}
	if o.RequestBody != nil {
		c.Body = d.contents(o.RequestBody.Content)
	}
	for status, response := range o.Responses.Codes.FromOldest() {
		if other := d.other[status]; other != nil && other.Description == response.Description {
			c.Usual = append(c.Usual, status)
		} else {
			c.Replies = append(c.Replies, d.newReply(status, response))
		}
	}
	c.Curl = c.curl()
	return c
}

// callers names the callers that each security scheme lets in.
var callers = map[string]string{"token": "users", "viewerToken": "viewers", "operatorToken": "operators",
	"adminToken": "admins", "service": "programs"}

// admitted returns the callers that may call.
func admitted(security []string) (who []string) {
	if len(security) == 0 || slices.Contains(security, "") {
		return []string{"anybody"}
	}
	for _, scheme := range security {
		if caller, found := callers[scheme]; found {
			who = append(who, caller)
		}
	}
	return who
}

// curl is the call as a command, with the first example of everything that it needs.
func (c *pageCall) curl() string {
	text, path, query := "curl", c.Path, ""
	for _, p := range c.Params {
		switch {
		case p.In == "path":
			path = strings.Replace(path, "{"+p.Name+"}", p.Example, 1)
		case p.In == "query" && p.Required:
			query = "?" + p.Name + "=" + p.Example
		}
	}
	if c.Method != "GET" && (c.Method != "POST" || c.Body == nil) {
		text += " -X " + c.Method
	}
	text += ` "$host` + path + query + `"`
	if c.Access[0] != "anybody" {
		text += ` -H "Access-Token: $token"`
	}
	for _, p := range c.Params {
		if p.Name == "Idempotency-Key" {
			text += ` -H "Idempotency-Key: $key"`
		}
	}
	if c.Body != nil {
		text += " -d '" + c.Body[0].Samples[0] + "'"
	}
	return text
}

func (d *Description) newReply(status string, response *v3.Response) reply {
	r := reply{Status: status, Good: status < "4", About: toHTML(response.Description)}
	for name, h := range response.Headers.FromOldest() {
		if name != "X-Request-Id" {
			r.Headers = append(r.Headers, header{name, toHTML(h.Description)})
		}
	}
	if r.Codes = codes(response); r.Codes == nil {
		r.Contents = d.contents(response.Content)
	}
	return r
}

func (d *Description) contents(media *orderedmap.Map[string, *v3.MediaType]) (list []content) {
	for kind, m := range media.FromOldest() {
		c := content{Kind: kind, Fields: fieldsOf(m.Schema.Schema())}
		if m.Example != nil {
			c.Samples = append(c.Samples, sample(m.Example))
		}
		for _, example := range m.Examples.FromOldest() {
			c.Samples = append(c.Samples, sample(example.Value))
		}
		if line := lineOf(m); line != nil {
			c.Lines = fieldsOf(line)
		}
		for _, message := range d.events(m) {
			c.Events = append(c.Events, event{message.name, toHTML(message.schema.Description),
				fieldsOf(message.schema)})
		}
		list = append(list, c)
	}
	return list
}

// sample is the text of an example: a text as it is, everything else as JSON.
func sample(node *yaml.Node) string {
	if node == nil || node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		if node == nil {
			return ""
		}
		return node.Value
	}
	var short, long bytes.Buffer
	if write(&short, node) != nil || short.Len() < 100 || json.Indent(&long, short.Bytes(), "", "  ") != nil {
		return short.String()
	}
	return long.String()
}

var code = regexp.MustCompile("`([^`]+)`")

// toHTML makes HTML of a text of the description: paragraphs, code, and indented lines as they are.
func toHTML(text string) template.HTML {
	if text == "" {
		return ""
	}
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "    ") {
			lines := strings.ReplaceAll(strings.TrimPrefix(paragraph, "    "), "\n    ", "\n")
			out.WriteString(`<pre tabindex="0">` + template.HTMLEscapeString(lines) + "</pre>")
			continue
		}
		escaped := template.HTMLEscapeString(strings.ReplaceAll(paragraph, "\n", " "))
		out.WriteString("<p>" + code.ReplaceAllString(escaped, "<code>$1</code>") + "</p>")
	}
	return template.HTML(out.String())
}
