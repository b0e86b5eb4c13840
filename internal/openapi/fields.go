package openapi

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/pb33f/libopenapi/datamodel/high/base"
)

// field is a member of an object on the page.
type field struct {
	Name     string // with its parents, as items[].food_id; "" for a heading
	Kind     string
	Optional bool
	About    template.HTML
}

// fieldsOf are the members of an object, of the objects of an array, or of each object that may be there.
func fieldsOf(schema *base.Schema) (list []field) {
	if item := itemOf(schema); item != nil {
		return fieldsOf(item)
	}
	for _, one := range schema.OneOf {
		list = append(list, field{About: toHTML(one.Schema().Description)})
		list = append(list, members("", one.Schema())...)
	}
	return append(list, members("", schema)...)
}

func members(prefix string, schema *base.Schema) (list []field) {
	for name, proxy := range schema.Properties.FromOldest() {
		property := proxy.Schema()
		list = append(list, field{prefix + name, kindOf(property), !slices.Contains(schema.Required, name),
			toHTML(property.Description)})
		if item := itemOf(property); item != nil {
			list = append(list, members(prefix+name+"[].", item)...)
		}
		list = append(list, members(prefix+name+".", property)...)
	}
	return list
}

// itemOf is the schema of the elements of an array, nil for anything else.
func itemOf(schema *base.Schema) *base.Schema {
	if schema.Items == nil || !schema.Items.IsA() {
		return nil
	}
	return schema.Items.A.Schema()
}

// kindOf tells in words which values a schema takes.
func kindOf(schema *base.Schema) string {
	switch item := itemOf(schema); {
	case schema.Const != nil:
		return sample(schema.Const)
	case len(schema.Enum) > 0:
		var values []string
		for _, value := range schema.Enum {
			values = append(values, sample(value))
		}
		return strings.Join(values, " | ")
	case item != nil:
		return "list of " + kindOf(item)
	}
	kind := strings.Join(schema.Type, " or ")
	switch {
	case schema.Format == "date-time":
		kind = strings.Replace(kind, "string", "time", 1)
	case schema.Minimum != nil && schema.Maximum != nil:
		kind += fmt.Sprintf(" %.0f to %.0f", *schema.Minimum, *schema.Maximum)
	case schema.Minimum != nil:
		kind += fmt.Sprintf(" ≥ %.0f", *schema.Minimum)
	case schema.MaxLength != nil:
		kind += fmt.Sprintf(", at most %d characters", *schema.MaxLength)
	}
	if schema.Default != nil {
		kind += ", default " + sample(schema.Default)
	}
	return kind
}
