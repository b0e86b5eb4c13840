package handlers

import (
	"github.com/valyala/fasthttp"

	"flashsale/internal/rooms/images"
)

// imagesMaxAge is how long a picture may be shown without asking for it again, in seconds.
const imagesMaxAge = "public, max-age=600"

// imageSizeMax is more than the longest side of any picture, in pixels.
const imageSizeMax = 65536

// imageCalls are the calls of the pictures of foods.
type imageCalls struct {
	*Server
	set *images.Set
}

// Images is the room of the pictures.
func Images(set *images.Set) Room {
	return func(s *Server) []Route {
		return []Route{{"GET", picturesPath + ":file", s.anybody, work{public: true}, imageCalls{s, set}.show}}
	}
}

// show sends a picture unless the client has it.
func (r imageCalls) show(ctx *fasthttp.RequestCtx, c Call) {
	size, ok := numberOf(ctx, "size", 1, imageSizeMax, imageSizeMax)
	if !ok {
		reply(ctx, errBadSize)
		return
	}
	picture := r.set.Find(c.param("file"), int(size))
	if picture == nil {
		reply(ctx, errNotFound)
		return
	}
	header := &ctx.Response.Header
	header.Set(fasthttp.HeaderCacheControl, imagesMaxAge)
	header.Set(fasthttp.HeaderETag, picture.ETag)
	header.SetCanonical(contentTypeOptions, noSniff)
	if hasTag(string(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)), picture.ETag) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	header.SetContentType(picture.Type)
	ctx.Response.SetBodyRaw(picture.Body)
}
