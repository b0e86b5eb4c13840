package handlers

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/valyala/fasthttp"

	"flashsale/internal/serve/listener"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDMax    = 128 // characters of one that a proxy gives
	requestIDBytes  = 16  // of one that is made, each as two characters
)

// identify returns the ID of a request and has the reply carry it: the one that a trusted proxy has given,
// or a new one. It is valid until the reply is sent. A request that it is not called for has no ID.
func (s *Server) identify(ctx *fasthttp.RequestCtx) (id []byte) {
	header := &ctx.Response.Header
	if id = header.Peek(requestIDHeader); len(id) > 0 {
		return id
	}
	if given := s.givenID(ctx); len(given) > 0 {
		header.SetBytesV(requestIDHeader, given)
	} else {
		setNewID(header)
	}
	return header.Peek(requestIDHeader)
}

// answersID reports whether the reply to a request carries an ID in any case, and not only where a line of
// the log names the request.
func (s *Server) answersID(ctx *fasthttp.RequestCtx) bool {
	return s.cfg.RequestIDs || len(s.givenID(ctx)) > 0
}

// givenID returns the ID that a trusted proxy has given a request, or nil. Somebody else could send
// the ID of another request. Of several IDs it is not known which one is the proxy's.
func (s *Server) givenID(ctx *fasthttp.RequestCtx) []byte {
	if len(s.cfg.TrustedProxies) == 0 {
		return nil
	}
	ids := ctx.Request.Header.PeekAll(requestIDHeader)
	if len(ids) != 1 || !isRequestID(ids[0]) || !listener.Within(peerOf(ctx), s.cfg.TrustedProxies) {
		return nil
	}
	return ids[0]
}

// isRequestID reports whether a text has 1 to requestIDMax characters of ASCII, all of them visible.
func isRequestID(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= requestIDMax
}

// setNewID sets an ID that is made of 128 random bits. It need not be hard to guess.
func setNewID(header *fasthttp.ResponseHeader) {
	var bits [requestIDBytes]byte
	binary.NativeEndian.PutUint64(bits[:], rand.Uint64())
	binary.NativeEndian.PutUint64(bits[8:], rand.Uint64())
	var text [2 * requestIDBytes]byte
	hex.Encode(text[:], bits[:])
	header.SetBytesV(requestIDHeader, text[:])
}
