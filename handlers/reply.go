package handlers

import (
	"github.com/valyala/fasthttp"
)

// scratchBytes is room on the stack for a reply: with it the hot replies do not allocate.
const scratchBytes = 256

var contentTypeJSON = []byte("application/json")

// reply answers with an error.
func reply(ctx *fasthttp.RequestCtx, f *failure) {
	if f.status == fasthttp.StatusServiceUnavailable || f.status == fasthttp.StatusTooManyRequests {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	ctx.SetStatusCode(f.status)
	replyRaw(ctx, f.body)
}

// keepPrivate has no cache keep the reply, and no browser guess its type. A token stands in a header of our
// own, so a shared cache would not take the replies for private. All calls have it but those of the order
// path: no cache keeps the reply to a POST or PATCH by itself, and the others show nothing of a user. A
// handler may set another Cache-Control.
func keepPrivate(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.SetCanonical(cacheControl, noStore)
	ctx.Response.Header.SetCanonical(contentTypeOptions, noSniff)
}

var (
	cacheControl, noStore       = []byte(fasthttp.HeaderCacheControl), []byte("no-store")
	contentTypeOptions, noSniff = []byte(fasthttp.HeaderXContentTypeOptions), []byte("nosniff")
)

// replyOutcome answers with the failure of an error. redisx logs the faults of Redis, once and not for each
// request; an error that is not in the table of outcomes should not happen and is logged here.
func (s *Server) replyOutcome(ctx *fasthttp.RequestCtx, err error) {
	f := failureOf(err)
	if f == errInternal {
		s.logFault(ctx, "error", err)
	}
	reply(ctx, f)
}

// replyBody answers with a JSON body, which is copied.
func replyBody(ctx *fasthttp.RequestCtx, body []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentTypeJSON)
	ctx.Response.SetBody(body)
}

// replyText answers with plain text.
func replyText(ctx *fasthttp.RequestCtx, text string) {
	ctx.Response.Header.SetContentType("text/plain")
	ctx.Response.SetBodyString(text)
}

// replyRaw answers with a ready-made JSON body, which is sent from where it stands.
func replyRaw(ctx *fasthttp.RequestCtx, body []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentTypeJSON)
	ctx.Response.SetBodyRaw(body)
}
