package handlers

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"
)

// hasQuery reports whether the target has a query: most hot calls have none, and it is not parsed then.
func hasQuery(ctx *fasthttp.RequestCtx) bool { return bytes.IndexByte(ctx.RequestURI(), '?') >= 0 }

// param returns a parameter of the query, "" if it is missing.
func param(ctx *fasthttp.RequestCtx, name string) string { return string(ctx.QueryArgs().Peek(name)) }

// numberOf reads a number of the query, usual if it is missing. ok is false if it is not from least to most.
func numberOf(ctx *fasthttp.RequestCtx, name string, least, most, usual uint64) (n uint64, ok bool) {
	text := param(ctx, name)
	if text == "" {
		return usual, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && least <= n && n <= most
}
