package apitest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pb33f/libopenapi/datamodel/high/base"
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
		About                           template.HTML
		Access                          []string
		Params                          []param
		Body                            []content
		Replies                         []reply
	}
	param struct {
		Name, In, Example string
		Required          bool
		About             template.HTML
	}
	reply struct {
		Status   string
		Good     bool
		About    template.HTML
		Headers  []string
		Contents []content
		Codes    []string
	}
	content struct {
		Kind    string
		Fields  []field
		Samples []string
	}
	field     struct{ Name, Kind string }
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
				one.Calls = append(one.Calls, newPageCall(c))
			}
		}
		p.Tags = append(p.Tags, one)
	}
	for _, status := range slices.Sorted(maps.Keys(d.other)) {
		p.Other = append(p.Other, newReply(status, d.other[status]))
	}
	for _, e := range d.errors {
		p.Errors = append(p.Errors, errorLine{e, toHTML(e.about)})
	}
	return p
}

func newPageCall(call Call) pageCall {
	o := call.operation
	c := pageCall{ID: o.OperationId, Method: call.Method, Path: call.Path, Summary: o.Summary,
		About: toHTML(o.Description)}
	if flag, found := get(o.Extensions, "x-flag"); found {
		c.Flag = flag.Value
	}
	for _, scheme := range call.Security {
		if who := callers[scheme]; who != "" && !slices.Contains(c.Access, who) {
			c.Access = append(c.Access, who)
		}
	}
	if c.Access == nil {
		c.Access = []string{"anybody"}
	}
	for _, p := range slices.Concat(call.item.Parameters, o.Parameters) {
		required := p.Required != nil && *p.Required
		c.Params = append(c.Params, param{p.Name, p.In, sample(p.Example), required, toHTML(p.Description)})
	}
	if o.RequestBody != nil {
		c.Body = contents(o.RequestBody.Content)
	}
	for status, response := range o.Responses.Codes.FromOldest() {
		c.Replies = append(c.Replies, newReply(status, response))
	}
	return c
}

// callers are those whom a scheme lets in.
var callers = map[string]string{"": "anybody", "token": "users", "rootToken": "root", "service": "programs"}

func newReply(status string, response *v3.Response) reply {
	r := reply{Status: status, Good: strings.HasPrefix(status, "2"), About: toHTML(response.Description)}
	for name := range response.Headers.KeysFromOldest() {
		if name != "X-Request-Id" {
			r.Headers = append(r.Headers, name)
		}
	}
	if r.Codes = codes(response); r.Codes == nil {
		r.Contents = contents(response.Content)
	}
	return r
}

func contents(media *orderedmap.Map[string, *v3.MediaType]) (list []content) {
	for kind, m := range media.FromOldest() {
		c := content{Kind: kind, Fields: fields(m.Schema.Schema())}
		if m.Example != nil {
			c.Samples = append(c.Samples, sample(m.Example))
		}
		for _, example := range m.Examples.FromOldest() {
			c.Samples = append(c.Samples, sample(example.Value))
		}
		list = append(list, c)
	}
	return list
}

// fields are those of an object, or of the objects of an array.
func fields(schema *base.Schema) (list []field) {
	if schema.Items != nil && schema.Items.IsA() {
		return fields(schema.Items.A.Schema())
	}
	for name, proxy := range schema.Properties.FromOldest() {
		property := proxy.Schema()
		kind := strings.Join(property.Type, " or ")
		if property.Const != nil {
			kind = sample(property.Const)
		}
		if !slices.Contains(schema.Required, name) {
			kind += ", optional"
		}
		list = append(list, field{name, kind})
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

// toHTML makes HTML of a text of the description: paragraphs, lists and code.
func toHTML(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		escaped := template.HTMLEscapeString(strings.ReplaceAll(paragraph, "\n", " "))
		out.WriteString("<p>" + code.ReplaceAllString(escaped, "<code>$1</code>") + "</p>")
	}
	return template.HTML(out.String())
}
