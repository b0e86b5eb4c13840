package handlers

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

var (
	adminPath   = []byte("/admin")
	doubleSlash = []byte("//")
)

// pathOf returns the decoded path of a request, otherwise as sent: //admin/orders must not get around a
// proxy's rule for /admin/orders. When ok is false, the path is refused and the request answered.
func pathOf(ctx *fasthttp.RequestCtx) (path []byte, ok bool) {
	target := ctx.RequestURI()
	if bytes.HasPrefix(target, doubleSlash) { // fasthttp takes the x of //x/admin/orders for the host
		reply(ctx, errNotFound)
		return nil, false
	}
	if target[0] != '/' { // a whole URL, or *
		path = ctx.URI().PathOriginal()
	} else {
		path, _, _ = bytes.Cut(target, questionMark) // the same as fasthttp's path, for much less work
	}
	if bytes.IndexByte(path, '%') < 0 {
		return path, true
	}
	path = unescape(ctx, path)
	return path, path != nil
}

var questionMark = []byte("?")

// unescape decodes a path once and makes the result the path of the request. It returns nil, and has
// answered the request, if the path is refused: if it is not UTF-8, or is encoded and under /admin, where a
// proxy's rule for /admin/orders may compare letters.
func unescape(ctx *fasthttp.RequestCtx, path []byte) []byte {
	decoded, ok := decodePath(path)
	if !ok {
		badRequest(ctx)
		return nil
	}
	if bytes.HasPrefix(decoded, adminPath) {
		reply(ctx, errNotFound)
		return nil
	}
	ctx.URI().SetPathBytes(decoded)
	return ctx.URI().PathOriginal()
}

// decodePath decodes each encoded character of a path. A slash and control characters stay encoded: a proxy
// may read them in another way, and no URL of the service has one.
func decodePath(path []byte) (decoded []byte, ok bool) {
	for len(path) > 0 {
		size, c := 1, path[0]
		if c == '%' {
			if len(path) < len("%00") {
				return nil, false
			}
			n, err := strconv.ParseUint(string(path[1:3]), 16, 8)
			if err != nil {
				return nil, false
			}
			if size = 3; n < ' ' || n == 0x7f || n == '/' {
				decoded = append(decoded, path[:2]...)
				c = path[2]
			} else {
				c = byte(n)
			}
		}
		decoded = append(decoded, c)
		path = path[size:]
	}
	return decoded, utf8.Valid(decoded)
}
