package handlers

import (
	"errors"

	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/accounts"
)

// scratchBytes is room on the stack for a reply, so that the hot replies do not allocate.
const scratchBytes = 256

var contentTypeJSON = []byte("application/json")

// reply answers with an error.
func reply(ctx *fasthttp.RequestCtx, f *failure) {
	if f.status == fasthttp.StatusServiceUnavailable || f.status == fasthttp.StatusTooManyRequests {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	ctx.SetStatusCode(f.status)
	replyRaw(ctx, f.bodyFor(ctx))
}

// bodyFor returns the body in the client's language.
func (f *failure) bodyFor(ctx *fasthttp.RequestCtx) []byte {
	if prefersEnglish(string(ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage))) {
		return f.english
	}
	return f.body
}

// keepPrivate forbids caches to keep the reply, and browsers to guess its type. The token is in a header of
// our own, so a shared cache cannot see that a reply is private. Only the order path goes without: caches
// keep no replies to POST and PATCH, and its other replies show nothing of a user. A handler may set another
// Cache-Control.
func keepPrivate(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.SetCanonical(cacheControl, noStore)
	ctx.Response.Header.SetCanonical(contentTypeOptions, noSniff)
}

var (
	cacheControl, noStore       = []byte(fasthttp.HeaderCacheControl), []byte("no-store")
	contentTypeOptions, noSniff = []byte(fasthttp.HeaderXContentTypeOptions), []byte("nosniff")
)

// replyOutcome answers with the failure of an error. redisx logs the faults of Redis, not for each request.
// An error that the table of outcomes does not have is a bug and logged here.
func (s *Server) replyOutcome(ctx *fasthttp.RequestCtx, err error) {
	f := failureOf(err)
	switch f {
	case errInternal:
		s.logFault(ctx, "error", err)
	case errUserNotFound:
		if unknown := (*accounts.NoUserError)(nil); errors.As(err, &unknown) {
			f = nobody(unknown.Text)
		}
	}
	reply(ctx, f)
}

// replyBody answers with a copy of a JSON body.
func replyBody(ctx *fasthttp.RequestCtx, body []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentTypeJSON)
	ctx.Response.SetBody(body)
}

// replyText answers with plain text.
func replyText(ctx *fasthttp.RequestCtx, text string) {
	ctx.Response.Header.SetContentType("text/plain")
	ctx.Response.SetBodyString(text)
}

// replyRaw answers with a ready-made JSON body, without a copy.
func replyRaw(ctx *fasthttp.RequestCtx, body []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentTypeJSON)
	ctx.Response.SetBodyRaw(body)
}
