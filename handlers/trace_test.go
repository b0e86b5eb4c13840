package handlers

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
	traced  = "00-" + traceID + "-" + spanID + "-01"
)

// traceparents are values of the header, with whether they are valid by the specification.
var traceparents = map[string]bool{
	traced:                                 true,
	"00-" + traceID + "-" + spanID + "-00": true,
	"00-" + traceID + "-" + spanID + "-ff": true, // flags that are not known yet
	"00-00000000000000000000000000000001-0000000000000001-01": true,

	// A later version may be longer.
	"01-" + traceID + "-" + spanID + "-01":          true,
	"cc-" + traceID + "-" + spanID + "-01-what the": true,
	"cc-" + traceID + "-" + spanID + "-01-":         true,
	"cc-" + traceID + "-" + spanID + "-01.what":     false,
	"cc-" + traceID + "-" + spanID + "-01what":      false,
	"cc-" + traceID + "-" + spanID + "-0":           false,
	"ff-" + traceID + "-" + spanID + "-01":          false,

	"": false, "00": false, "00-": false, traceID: false,
	traced + "-": false, traced + "-what": false, traced + "0": false, traced + " ": false, " " + traced: false,
	traced[1:]: false, traced[:54]: false,
	"0-" + traceID + "-" + spanID + "-01":                   false,
	"0x-" + traceID + "-" + spanID + "-01":                  false,
	"00-00000000000000000000000000000000-" + spanID + "-01": false,
	"00-" + traceID + "-0000000000000000-01":                false,
	"00-" + strings.ToUpper(traceID) + "-" + spanID + "-01": false,
	"00-" + traceID + "-" + strings.ToUpper(spanID) + "-01": false,
	"00-" + traceID + "-" + spanID + "-0A":                  false,
	"0A-" + traceID + "-" + spanID + "-01":                  false,
	"00-" + traceID[:31] + "-" + spanID + "-01":             false,
	"00-" + traceID + "0-" + spanID + "-01":                 false,
	"00-" + traceID + "-" + spanID[:15] + "-01":             false,
	"00-" + traceID + "-" + spanID + "-1":                   false,
	"00-" + traceID[:31] + "g-" + spanID + "-01":            false,
	"00-" + traceID[:31] + ".-" + spanID + "-01":            false,
	"00-" + traceID + "-" + spanID[:15] + "g-01":            false,
	"00_" + traceID + "-" + spanID + "-01":                  false,
	"00-" + traceID + "_" + spanID + "-01":                  false,
	"00-" + traceID + "-" + spanID + "_01":                  false,
}

func TestTraceparent(t *testing.T) {
	for text, want := range traceparents {
		p, ok := parseTraceparent(text)
		if ok != want || ok != (p != parent{}) {
			t.Errorf("%q: %+v %v, want %v", text, p, ok, want)
		}
		if ok && (p.trace != text[3:35] || p.span != text[36:52]) {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

// One header counts, of several none does.
func TestParentOf(t *testing.T) {
	other := strings.Replace(traced, "4b", "4c", 1)
	for _, test := range []struct {
		headers []string
		want    parent
	}{
		{nil, parent{}}, {[]string{traced}, parent{traceID, spanID}}, {[]string{"x"}, parent{}},
		{[]string{traced, traced}, parent{}}, {[]string{traced, other}, parent{}},
		{[]string{"", traced}, parent{}},
	} {
		var ctx fasthttp.RequestCtx
		for _, value := range test.headers {
			ctx.Request.Header.Add("Traceparent", value)
		}
		ctx.Request.Header.Set("Tracestate", "a=b") // is not looked at
		if got := parentOf(&ctx); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.headers, got, test.want)
		}
	}
}
