// Package framing finds the end of a request of HTTP/1.1 or 1.0 in the bytes of a connection, and refuses
// every request that RFC 9112 does not allow. If a proxy in front reads a request otherwise than this
// server, a part of one request passes for the next. So nothing that can be read in two ways is accepted.
// The package has no connection and no reply. A Request only reads bytes: it does not allocate (except for
// an IPv6 address as host), and its work grows with the bytes of a request, not with the number of pieces in
// which they come. An Input holds the bytes that a connection has received, in one of Buffers.
package framing

import "bytes"

// Verdict is the outcome of a Scan.
type Verdict uint8

const (
	More         Verdict = iota // the request is not complete yet
	Continue                    // the same, and the client waits for a "100 Continue"; at most once
	Whole                       // the first Size bytes are the request
	BadRequest                  // refused: RFC 9112 does not allow it
	BodyTooLarge                // refused: over Limits.Body, or the limit of its call
	URLTooLong                  // refused: over Limits.URL
	HeadTooLarge                // refused: over Limits.Head or Limits.Headers
	NoRoom                      // refused: too many large requests at once; Scan never returns it

	advance // for Request itself: read the next part
)

// GoOn is sent to a client that waits for it, see Continue.
const GoOn = "HTTP/1.1 100 Continue\r\n\r\n"

// Limits bounds a request.
type Limits struct {
	Head    int // bytes of the request line, the headers and the trailers, with their line ends
	URL     int // bytes of the request target
	Headers int // lines of headers and trailers
	Body    int // bytes of the body of any call as it is sent, with the lines of its chunks

	// Some calls may have a longer body: BodyOf returns the limit of a call, at most LongestBody. It is called
	// only if Body may not be enough.
	LongestBody int
	BodyOf      func(method, target []byte) int
}

// Longest returns the most bytes of a request: when that many have come, the verdict is not More.
func (l *Limits) Longest() int { return l.Head + max(l.Body, l.LongestBody) }

// body returns the limit of the body of a request that begins with this line.
func (l *Limits) body(line []byte) int {
	if l.LongestBody <= l.Body {
		return l.Body
	}
	method, rest, _ := bytes.Cut(line, []byte{' '})
	target, _, _ := bytes.Cut(rest, []byte{' '})
	return min(max(l.Body, l.BodyOf(method, target)), l.LongestBody)
}

// Span is a part of a request's bytes, empty if the request has no such part.
type Span struct{ From, To int }

// Request is a request that is being read. The zero value is ready for the first byte.
type Request struct {
	// the client wants no further replies; set once the request is whole
	Close    bool
	IsHead   bool // the method is HEAD: the reply has no body
	Expect   Span // value of the first header Expect
	Trailers Span // trailers, without the empty line at their end

	stage    stage
	at       int // everything before it is read; a line, or the end of a chunk or body follows
	searched int // the bytes from at to here are read too, or have no line end
	colon    int // of a header or trailer, 0 before it has come
	begin    int // of the request line
	head     int // bytes up to the body
	bodyMax  int // most bytes of the body
	fields   int // lines of headers and trailers
	length   int // Content-Length

	http10, hasHost, hasLength, chunked bool
	close, keepAlive                    bool // options of Connection
	expects                             bool // the client waits for "100 Continue"
}

// stage is the next part of a request.
type stage uint8

const (
	requestLine stage = iota
	headers
	sizedBody
	chunkLine
	chunkEnd // the CRLF behind the bytes of a chunk
	trailers
	whole
)

// Size returns the number of bytes of a request that is whole.
func (r *Request) Size() int { return r.at }

// Settle takes the expectation and the trailers out of a whole request: another reader would answer an
// Expect again and take trailers for headers. received begins with the request. Settle moves the bytes
// behind the request forward and returns the shorter received.
func (r *Request) Settle(received []byte) []byte {
	for i := r.Expect.From; i < r.Expect.To; i++ {
		received[i] = ' '
	}
	cut := r.Trailers.To - r.Trailers.From
	if cut == 0 {
		return received
	}
	copy(received[r.Trailers.From:], received[r.Trailers.To:])
	r.at -= cut
	r.Trailers.To = r.Trailers.From
	return received[:len(received)-cut]
}

// Scan continues to read a request. received has all bytes of the request so far and perhaps bytes behind
// it: those of the last Scan and more. After Whole or a refusal there is nothing more to scan.
func (r *Request) Scan(received []byte, limits *Limits) Verdict {
	v := advance
	for v == advance {
		switch r.stage {
		case requestLine:
			v = r.scanRequestLine(received, limits)
		case headers:
			v = r.scanHeaders(received, limits)
		case sizedBody:
			v = r.scanSizedBody(received)
		case chunkLine:
			v = r.scanChunkLine(received)
		case chunkEnd:
			v = r.scanChunkEnd(received)
		case trailers:
			v = r.scanTrailers(received, limits)
		case whole:
			v = Whole
		}
	}
	if v == More && r.expects && r.head > 0 {
		r.expects = false
		return Continue
	}
	return v
}

// line returns a line without its end. The line must end before limit; otherwise the verdict is tooLong.
func (r *Request) line(received []byte, limit int, tooLong Verdict) ([]byte, Verdict) {
	end := min(len(received), limit)
	n := bytes.IndexByte(received[r.searched:end], '\n')
	if n < 0 {
		r.searched = end
		if end == limit {
			return nil, tooLong
		}
		return nil, More
	}
	n += r.searched
	if n == r.at || received[n-1] != '\r' {
		return nil, BadRequest
	}
	line := received[r.at : n-1]
	r.skipTo(n + 1)
	return line, advance
}

func (r *Request) skipTo(at int) { r.at, r.searched = at, at }

// beginBody ends the head: the headers decide the length of the body (RFC 9112, 6.3).
func (r *Request) beginBody(received []byte, limits *Limits) Verdict {
	if !r.hasHost && !r.http10 || r.chunked && (r.hasLength || r.http10) {
		return BadRequest
	}
	if r.bodyMax = limits.Body; r.chunked || r.length > limits.Body {
		r.bodyMax = limits.body(received[r.begin:r.at])
	}
	if r.length > r.bodyMax {
		return BodyTooLarge
	}
	r.head = r.at
	r.Close = r.close || r.http10 && !r.keepAlive
	r.expects = r.expects && !r.http10
	r.stage = sizedBody
	if r.chunked {
		r.stage = chunkLine
	}
	return advance
}

func (r *Request) scanSizedBody(received []byte) Verdict {
	if len(received) < r.head+r.length {
		return More
	}
	r.at = r.head + r.length
	r.stage = whole
	return advance
}

// scanChunkLine reads the line before a chunk's bytes. An empty chunk is the last.
func (r *Request) scanChunkLine(received []byte) Verdict {
	line, v := r.line(received, r.head+r.bodyMax, BodyTooLarge)
	if v != advance {
		return v
	}
	size, ok := chunkSize(line)
	switch left := r.head + r.bodyMax - r.at - len("\r\n"); {
	case !ok:
		return BadRequest
	case size == 0:
		r.Trailers = Span{r.at, r.at}
		r.stage = trailers
	case left < 0 || size > uint64(left):
		return BodyTooLarge
	default:
		r.skipTo(r.at + int(size))
		r.stage = chunkEnd
	}
	return advance
}

func (r *Request) scanChunkEnd(received []byte) Verdict {
	if len(received) < r.at+len("\r\n") {
		return More
	}
	if received[r.at] != '\r' || received[r.at+1] != '\n' {
		return BadRequest
	}
	r.skipTo(r.at + len("\r\n"))
	r.stage = chunkLine
	return advance
}

// scanTrailers reads the lines behind the last chunk, which have the form of headers, and the empty line at
// the end.
func (r *Request) scanTrailers(received []byte, limits *Limits) Verdict {
	for {
		empty, v := r.field(received, r.Trailers.From+limits.Head-r.head, limits.Headers)
		if v != advance {
			return v
		}
		if empty {
			r.stage = whole
			return advance
		}
		r.Trailers.To = r.at
	}
}
