package handlers

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"

	"github.com/valyala/fasthttp"
)

// The description of the API and its page are made of openapi.yaml by TestDescription with -update, so that
// a start has nothing to convert.
var (
	//go:embed openapi.json
	description []byte
	//go:embed docs.html
	docsPage []byte
)

// docsPolicy lets the page use its own style sheet and nothing else.
var docsPolicy = "default-src 'none'; style-src '" + styleHash(docsPage) +
	"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// styleHash is the hash by which a policy names the style sheet in a page.
func styleHash(page []byte) string {
	_, style, _ := bytes.Cut(page, []byte("<style>"))
	style, _, _ = bytes.Cut(style, []byte("</style>"))
	sum := sha256.Sum256(style)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// describe sends the description of the API.
func (s *Server) describe(ctx *fasthttp.RequestCtx, _ call) { replyRaw(ctx, description) }

// showDocs sends the same as a page for people.
func (s *Server) showDocs(ctx *fasthttp.RequestCtx, _ call) {
	header := &ctx.Response.Header
	header.SetContentType("text/html; charset=utf-8")
	header.Set("Content-Security-Policy", docsPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	ctx.Response.SetBodyRaw(docsPage)
}
