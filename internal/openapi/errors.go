package openapi

import (
	"slices"
	"strings"

	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// Error is a code of the errors.
type Error struct {
	Code     string
	Messages []string // in Chinese and in English; none where a message is a pattern
	Statuses []string
	about    string
}

// readErrors reads the schemas that have the name of an error code.
func (d *Description) readErrors() {
	for name, proxy := range d.model.Components.Schemas.FromOldest() {
		if name != strings.ToUpper(name) {
			continue
		}
		e := Error{Code: name, about: proxy.Schema().Description}
		if message, found := get(proxy.Schema().Properties, "message"); found {
			for _, value := range message.Schema().Enum {
				e.Messages = append(e.Messages, value.Value)
			}
		}
		e.Statuses = statusesOf(name, d.other)
		for _, c := range d.calls {
			e.Statuses = append(e.Statuses, statusesOf(name, c.responses)...)
		}
		slices.Sort(e.Statuses)
		e.Statuses = slices.Compact(e.Statuses)
		d.errors = append(d.errors, e)
	}
}

// statusesOf are the statuses of responses that have a code.
func statusesOf(code string, responses map[string]*v3.Response) (statuses []string) {
	for status, response := range responses {
		if slices.Contains(codes(response), code) {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// codes returns the codes of the errors that a response may have, nil if it is no error.
func codes(response *v3.Response) (list []string) {
	media, found := get(response.Content, jsonKind)
	if !found {
		return nil
	}
	all := []*base.SchemaProxy{media.Schema}
	if one := media.Schema.Schema().OneOf; one != nil {
		all = one
	}
	for _, proxy := range all {
		if code, found := constant(proxy.Schema(), "code"); found {
			list = append(list, code)
		}
	}
	return slices.Compact(list)
}

// constant is the only value that a property of a schema may have.
func constant(schema *base.Schema, name string) (value string, found bool) {
	property, found := get(schema.Properties, name)
	if !found || property.Schema().Const == nil {
		return "", false
	}
	return property.Schema().Const.Value, true
}
