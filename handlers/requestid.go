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
	requestIDMax    = 128 // characters of an ID from a proxy
	requestIDBytes  = 16  // of an ID made here; each is two characters
)

// identify returns the ID of a request, from a trusted proxy or new, and puts it into the reply. The ID is
// valid until the reply is sent. Only requests that need an ID get one.
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

// answersID reports whether the reply carries an ID even if no line of the log names the request.
func (s *Server) answersID(ctx *fasthttp.RequestCtx) bool {
	return s.cfg.RequestIDs || len(s.givenID(ctx)) > 0
}

// givenID returns the ID that a trusted proxy has given, or nil. Anybody else could send the ID of another
// request. Several IDs are ignored: nothing shows which one is the proxy's.
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

// isRequestID reports whether a text has 1 to requestIDMax visible ASCII characters.
func isRequestID(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= requestIDMax
}

// setNewID sets an ID of 128 random bits. It need not be hard to guess.
func setNewID(header *fasthttp.ResponseHeader) {
	var bits [requestIDBytes]byte
	binary.NativeEndian.PutUint64(bits[:], rand.Uint64())
	binary.NativeEndian.PutUint64(bits[8:], rand.Uint64())
	var text [2 * requestIDBytes]byte
	hex.Encode(text[:], bits[:])
	header.SetBytesV(requestIDHeader, text[:])
}
