package handlers

import (
	"strings"

	"github.com/valyala/fasthttp"

	"flashsale/handlers/web"
)

// pageHeaders go with every file. The browser refuses scripts, styles and connections of other origins, and
// scripts made from text. It asks for each file every time, with the file's tag: scripts of two versions
// must not mix.
var pageHeaders = [][2]string{
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; " +
		"connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{fasthttp.HeaderCacheControl, "no-cache"},
	{fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding},
}

// strictTransport tells browsers to use HTTPS only, for a year. In plain HTTP they ignore it.
const strictTransport = "max-age=31536000"

// pageCalls are the calls of the page.
type pageCalls struct {
	*Server
	site *web.Site
}

// Page is the room of the page, at /.
func Page(site *web.Site) Room {
	return func(s *Server) []Route {
		r := pageCalls{s, site}
		return []Route{
			{"GET", "/", s.anybody, slow, r.show},
			{"GET", "/web/:file", s.anybody, slow, r.showFile},
		}
	}
}

// show answers with the page itself.
func (r pageCalls) show(ctx *fasthttp.RequestCtx, _ Call) { r.sendFile(ctx, r.site.File(web.Index)) }

// showFile answers with a file of the page.
func (r pageCalls) showFile(ctx *fasthttp.RequestCtx, c Call) {
	r.sendFile(ctx, r.site.File(c.param("file")))
}

// sendFile sends a file unless the client has it; nil gets a 404.
func (s *Server) sendFile(ctx *fasthttp.RequestCtx, file *web.File) {
	if file == nil {
		reply(ctx, errNotFound)
		return
	}
	header := &ctx.Response.Header
	for _, line := range pageHeaders {
		header.Set(line[0], line[1])
	}
	if s.cfg.TLS != nil {
		header.Set(fasthttp.HeaderStrictTransportSecurity, strictTransport)
	}
	form := &file.Plain
	if acceptsGzip(string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding))) {
		form = &file.Zipped
		header.Set(fasthttp.HeaderContentEncoding, "gzip")
	}
	header.Set(fasthttp.HeaderETag, form.ETag)
	if hasTag(string(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)), form.ETag) {
		header.Del(fasthttp.HeaderContentEncoding) // there is no content
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	header.SetContentType(file.Type)
	ctx.Response.SetBodyRaw(form.Body)
}

// acceptsGzip reports whether the value of an Accept-Encoding names gzip with a weight above zero. A "*"
// does not count.
func acceptsGzip(value string) bool {
	for part := range strings.SplitSeq(value, ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			weight, weighted := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameters)), "q=")
			return !weighted || strings.Trim(weight, "0.") != ""
		}
	}
	return false
}

// hasTag reports whether the value of an If-None-Match names the tag. Weak tags count: a proxy may have
// weakened them.
func hasTag(value, tag string) bool {
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}
