package handlers

import (
	"bytes"
	_ "embed"
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
	{"Content-Security-Policy", filePolicy},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{fasthttp.HeaderCacheControl, "no-cache"},
	{fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding},
}

const filePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// strictTransport tells browsers to use HTTPS only, for a year. In plain HTTP they ignore it.
const strictTransport = "max-age=31536000"

// pageCalls are the calls of the page.
type pageCalls struct {
	*Server
	site   *web.Site
	push   PushPlace
	policy string // of the page itself
}

// Page is the room of the page, at /. It may open the websocket of the push service.
func Page(site *web.Site, push PushPlace) Room {
	policy := strings.NewReplacer(
		"script-src 'self'", "script-src 'self' "+strings.Join(site.Scripts, " "),
		"style-src 'self'", "style-src 'self' "+strings.Join(site.Styles, " ")).Replace(filePolicy)
	return func(s *Server) []Route {
		r := pageCalls{s, site, push, policy}
		return []Route{
			{"GET", "/", s.anybody, slow, r.show},
			{"GET", "/web/:file", s.anybody, slow, r.showFile},
			{"GET", "/favicon.ico", s.anybody, slow, r.showIcon}, // browsers ask for it on /docs
		}
	}
}

// show answers with the page itself. Its policy allows what stands in it, and the websocket.
func (r pageCalls) show(ctx *fasthttp.RequestCtx, _ Call) {
	r.sendFile(ctx, r.site.File(web.Index))
	policy := r.policy
	if r.push.Address != "" {
		if origin := r.pushOrigin(ctx, r.push); plainOrigin.MatchString(origin) {
			policy = strings.Replace(policy, "connect-src 'self'", "connect-src 'self' "+origin, 1)
		}
	}
	ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, policy)
}

// plainOrigin matches an origin that can stand in a policy. Its host may come from the client.
var plainOrigin = regexp.MustCompile(`^wss?://[0-9A-Za-z.:[\]-]+$`)

// showFile answers with a file of the page.
func (r pageCalls) showFile(ctx *fasthttp.RequestCtx, c Call) {
	if name := c.param("file"); name != web.Index { // it has one address
		r.sendFile(ctx, r.site.File(name))
	} else {
		reply(ctx, errNotFound)
	}
}

// showIcon answers with the icon, under the name that browsers ask for by themselves.
func (r pageCalls) showIcon(ctx *fasthttp.RequestCtx, _ Call) {
	r.sendFile(ctx, r.site.File(r.site.Icon))
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
	accepted := string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding))
	if len(file.Zipped.Body) > 0 && acceptsGzip(accepted) {
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
var docsPolicy = "default-src 'none'; img-src 'self'; style-src " + web.Hash(styleOf(docsPage)) +
	"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// styleOf returns the style sheet that stands in a page.
func styleOf(page []byte) []byte {
	_, style, _ := bytes.Cut(page, []byte("<style>"))
	style, _, _ = bytes.Cut(style, []byte("</style>"))
	return style
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
