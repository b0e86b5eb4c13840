package handlers

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"regexp"
	"strings"
	"sync"

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
	push PushPlace
}

// Page is the room of the page, at /. It may open the websocket of the push service.
func Page(site *web.Site, push PushPlace) Room {
	return func(s *Server) []Route {
		r := pageCalls{s, site, push}
		return []Route{
			{"GET", "/", s.anybody, slow, r.show},
			{"GET", "/web/:file", s.anybody, slow, r.showFile},
			{"GET", "/favicon.ico", s.anybody, slow, r.showIcon}, // browsers ask for it on /docs
		}
	}
}

// show answers with the page itself.
func (r pageCalls) show(ctx *fasthttp.RequestCtx, _ Call) {
	r.sendFile(ctx, r.site.File(web.Index))
	if r.push.Address == "" {
		return
	}
	if origin := r.pushOrigin(ctx, r.push); plainOrigin.MatchString(origin) {
		header := &ctx.Response.Header
		policy := string(header.Peek(fasthttp.HeaderContentSecurityPolicy))
		header.Set(fasthttp.HeaderContentSecurityPolicy,
			strings.Replace(policy, "connect-src 'self'", "connect-src 'self' "+origin, 1))
	}
}

// plainOrigin matches an origin that can stand in a policy. Its host may come from the client.
var plainOrigin = regexp.MustCompile(`^wss?://[0-9A-Za-z.:[\]-]+$`)

// showFile answers with a file of the page.
func (r pageCalls) showFile(ctx *fasthttp.RequestCtx, c Call) {
	r.sendFile(ctx, r.site.File(c.param("file")))
}

// showIcon answers with the icon, under the name that browsers ask for by themselves.
func (r pageCalls) showIcon(ctx *fasthttp.RequestCtx, _ Call) {
	r.sendFile(ctx, r.site.File("icon.svg"))
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

// openapi.json and docs.html are made from openapi.yaml ahead of time, by internal/openapi: go test
// ./handlers -run 'TestDescription$' -update
var (
	//go:embed openapi.json
	description []byte
	//go:embed docs.html
	docsPage []byte
)

// docsPolicy lets the page use its own style sheet and the icon of this server, and nothing else.
var docsPolicy = "default-src 'none'; img-src 'self'; style-src '" + styleHash(docsPage) +
	"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// styleHash returns the hash by which a policy allows the style sheet of a page.
func styleHash(page []byte) string {
	_, style, _ := bytes.Cut(page, []byte("<style>"))
	style, _, _ = bytes.Cut(style, []byte("</style>"))
	sum := sha256.Sum256(style)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// documents holds both files, compressed at the first request, which most workers never get.
var documents = sync.OnceValues(func() (*web.Site, error) {
	return web.Of(map[string][]byte{"openapi.json": description, "docs.html": docsPage})
})

// describe sends the description of the API.
func (s *Server) describe(ctx *fasthttp.RequestCtx, _ Call) { s.sendDocument(ctx, "openapi.json") }

// showDocs sends the description as a page for people.
func (s *Server) showDocs(ctx *fasthttp.RequestCtx, _ Call) { s.sendDocument(ctx, "docs.html") }

func (s *Server) sendDocument(ctx *fasthttp.RequestCtx, name string) {
	site, err := documents()
	if err != nil {
		s.replyOutcome(ctx, err)
		return
	}
	s.sendFile(ctx, site.File(name))
	ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, docsPolicy)
}
