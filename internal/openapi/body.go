package openapi

import (
	"fmt"
	"net/http"
)

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
