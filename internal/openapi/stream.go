package openapi

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// eventsExtension has the names of the messages of a stream, in the order of the schemas in its
// contentSchema. The contentSchema of another text is that of each line.
const eventsExtension = "x-events"

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
	var names []string
	node, found := get(media.Extensions, eventsExtension)
	if !found || node.Decode(&names) != nil {
		return nil
	}
	for i, one := range media.Schema.Schema().ContentSchema.Schema().OneOf {
		list = append(list, message{names[i], one.Schema()})
	}
	return list
}

// compareLines compares each line of a text with the schema of a line, where there is one.
func (d *Description) compareLines(r Reply, media *v3.MediaType) error {
	schema := lineOf(media)
	if schema == nil {
		return nil
	}
	for line := range bytes.Lines(r.Body) {
		if err := d.compareText(r, line, schema); err != nil {
			return fmt.Errorf("line %.200s: %w", line, err)
		}
	}
	return nil
}

// lineOf is the schema of each line of a text, nil where lines are not described.
func lineOf(media *v3.MediaType) *base.Schema {
	schema := media.Schema.Schema().ContentSchema
	if _, isStream := get(media.Extensions, eventsExtension); isStream || schema == nil {
		return nil
	}
	return schema.Schema()
}
