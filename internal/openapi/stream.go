package openapi

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"go.yaml.in/yaml/v4"
)

// Extensions of a media type.
const (
	linesExtension  = "x-lines"
	eventsExtension = "x-events"
)

const streamKind = "text/event-stream"

// CheckEvent returns how a message of a stream differs from the description, nil if it does not differ.
func (d *Description) CheckEvent(path, event, data string) error {
	d.reading.Lock()
	defer d.reading.Unlock()
	r := Reply{Method: http.MethodGet, Target: path, Status: http.StatusOK}
	var schema *base.Schema
	if response := d.find(r.Method, partsOf(path), r.Status); response != nil {
		if media, found := get(response.Content, streamKind); found {
			for _, m := range d.events(media) {
				if m.name == event {
					schema = m.schema
				}
			}
		}
	}
	if schema == nil {
		return fmt.Errorf("%s: event %q is not described (%.200s)", path, event, data)
	}
	if err := d.compareText(r, []byte(data), schema); err != nil {
		return fmt.Errorf("%s: event %q, %.200s: %w", path, event, data, err)
	}
	return nil
}

// message is a kind of messages of a stream.
type message struct {
	name   string
	schema *base.Schema // of the data
}

// events are the messages of a stream.
func (d *Description) events(media *v3.MediaType) (list []message) {
	node, found := get(media.Extensions, eventsExtension)
	if !found {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		list = append(list, message{node.Content[i].Value, d.referred(node.Content[i+1])})
	}
	return list
}

// compareLines compares each line of a text with the schema of a line, where there is one.
func (d *Description) compareLines(r Reply, media *v3.MediaType) error {
	node, found := get(media.Extensions, linesExtension)
	if !found {
		return nil
	}
	schema := d.referred(node)
	if schema == nil {
		return fmt.Errorf("%s is no reference to a schema", linesExtension)
	}
	for line := range bytes.Lines(r.Body) {
		if err := d.compareText(r, line, schema); err != nil {
			return fmt.Errorf("line %.200s: %w", line, err)
		}
	}
	return nil
}

// referred is the schema that a reference in an extension names, nil if there is no such schema.
func (d *Description) referred(node *yaml.Node) *base.Schema {
	var reference map[string]string
	if node.Decode(&reference) != nil {
		return nil
	}
	name := reference["$ref"][strings.LastIndexByte(reference["$ref"], '/')+1:]
	proxy, found := get(d.model.Components.Schemas, name)
	if !found {
		return nil
	}
	return proxy.Schema()
}
