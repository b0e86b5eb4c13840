package handlers

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"sync"

	"github.com/valyala/fasthttp"

	"flashsale/handlers/web"
)

// openapi.json and docs.html are made from openapi.yaml ahead of time, by internal/openapi: go test
// ./handlers -run 'TestDescription$' -update
var (
	//go:embed openapi.json
	description []byte
	//go:embed docs.html
	docsPage []byte
)

// docsPolicy lets the page use its own style sheet and nothing else.
var docsPolicy = "default-src 'none'; style-src '" + styleHash(docsPage) +
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
