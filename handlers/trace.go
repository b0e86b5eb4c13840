package handlers

import (
	"github.com/valyala/fasthttp"
)

// parent is the place of a request in the caller's trace: IDs in hexadecimal, or "" and "".
type parent struct{ trace, span string }

// parentOf reads the header traceparent (W3C Trace Context, Level 1). The IDs only go into the log; the
// server makes no spans. Several such headers are ignored. It allocates.
func parentOf(ctx *fasthttp.RequestCtx) parent {
	headers := ctx.Request.Header.PeekAll("traceparent")
	if len(headers) != 1 {
		return parent{}
	}
	p, _ := parseTraceparent(string(headers[0]))
	return p
}

// Places in a traceparent: 00-<32 digits of the trace>-<16 digits of the span>-<2 digits of flags>.
const (
	traceBegin, traceEnd    = 3, 35
	spanBegin, spanEnd      = 36, 52
	flagsBegin, flagsEnd    = 53, 55
	traceVersion, noVersion = "00", "ff"
)

// parseTraceparent reads the value of a traceparent. A later version may go on behind the flags, after a
// hyphen. It returns false for all that the specification calls invalid.
func parseTraceparent(text string) (p parent, ok bool) {
	if len(text) < flagsEnd || text[traceBegin-1] != '-' || text[traceEnd] != '-' || text[spanEnd] != '-' {
		return parent{}, false
	}
	version := text[:traceBegin-1]
	p = parent{trace: text[traceBegin:traceEnd], span: text[spanBegin:spanEnd]}
	if !isHex(version) || version == noVersion || !isTraceID(p.trace) || !isTraceID(p.span) ||
		!isHex(text[flagsBegin:flagsEnd]) {
		return parent{}, false
	}
	if rest := text[flagsEnd:]; rest != "" && (version == traceVersion || rest[0] != '-') {
		return parent{}, false
	}
	return p, true
}

// isTraceID reports whether a text is an ID: hexadecimal and not all zeros.
func isTraceID(text string) bool {
	for i := range len(text) {
		if text[i] != '0' {
			return isHex(text)
		}
	}
	return false
}

// isHex reports whether a text has only hexadecimal digits, without capitals.
func isHex(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
