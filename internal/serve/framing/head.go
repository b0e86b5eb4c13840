package framing

import "math"

// aroundURL is room in a request line for the rest: the method, spaces, the version, the line end.
const aroundURL = 64

// scanRequestLine reads the request line, or an empty line before it (RFC 9112, 2.2).
func (r *Request) scanRequestLine(received []byte, limits *Limits) Verdict {
	limit, tooLong := r.at+limits.URL+aroundURL, URLTooLong
	if limit > limits.Head {
		limit, tooLong = limits.Head, HeadTooLarge
	}
	start := r.at
	line, v := r.line(received, limit, tooLong)
	if v == More || v == advance && len(line) == 0 {
		return v
	}
	space := tokenLength(received[start:min(limit, len(received))])
	r.IsHead = string(received[start:start+space]) == "HEAD"
	if v == URLTooLong && space > aroundURL {
		return BadRequest // the method is too long, not the URL
	}
	if v != advance {
		return v
	}
	r.stage, r.begin = headers, start
	version := len(line) - len(" HTTP/1.1")
	if space == 0 || version < space+len(" *") || line[space] != ' ' {
		return BadRequest
	}
	switch string(line[version:]) {
	case " HTTP/1.1":
	case " HTTP/1.0":
		r.http10 = true
	default:
		return BadRequest
	}
	method, target := line[:space], line[space+1:version]
	if len(target) > limits.URL {
		return URLTooLong
	}
	if !validTarget(method, target) {
		return BadRequest
	}
	return advance
}

// validTarget reports whether a request of this method can have this target (RFC 9112, 3.2).
func validTarget(method, target []byte) bool {
	switch {
	case string(method) == "CONNECT":
		return validHost(target) && isDigit(target[len(target)-1]) && hasPort(target)
	case target[0] == '/':
		return validPath(target)
	case string(target) == "*":
		return string(method) == "OPTIONS"
	}
	for _, scheme := range [...]string{"http://", "https://"} {
		n := len(scheme)
		if len(target) < n || !equalFold(target[:n], scheme) {
			continue
		}
		end := n
		for end < len(target) && target[end] != '/' && target[end] != '?' {
			end++
		}
		return validHost(target[n:end]) && validPath(target[end:])
	}
	return false
}

// scanHeaders reads the headers up to the empty line behind them. It reads a complete line in one go. field
// reads the others: lines in pieces, the empty line, and lines to be refused.
func (r *Request) scanHeaders(received []byte, limits *Limits) Verdict {
	head := received[:min(len(received), limits.Head)]
	for {
		for r.searched == r.at {
			name, line := wholeField(head[r.at:])
			if line == 0 {
				break
			}
			r.colon = r.at + name
			if v := r.endField(head, r.at+line, limits.Headers); v != advance {
				return v
			}
		}
		empty, v := r.field(received, limits.Head, limits.Headers)
		if v != advance {
			return v
		}
		if empty {
			return r.beginBody(received, limits)
		}
	}
}

// field reads the line of a header or trailer, or the empty line behind them. It looks at each byte once and
// in order, so that the verdict does not depend on the number of bytes that have come. A line that begins
// with white space (the second half of a folded header) has no name.
func (r *Request) field(received []byte, limit, fieldsMax int) (empty bool, v Verdict) {
	received, more := received[:min(len(received), limit)], More
	if len(received) == limit {
		more = HeadTooLarge
	}
	n := r.searched
	if r.colon == 0 {
		n += tokenLength(received[n:])
		switch {
		case n == len(received):
			r.searched = n
			return false, more
		case received[n] == ':' && n > r.at:
			r.colon = n
			n++
		case received[n] != '\r' || n > r.at:
			return false, BadRequest
		}
	}
	if r.colon > 0 {
		n += valueLength(received[n:])
	}
	switch {
	case n == len(received) || n+1 == len(received) && received[n] == '\r':
		r.searched = n
		return false, more
	case received[n] != '\r' || received[n+1] != '\n':
		return false, BadRequest
	case r.colon == 0:
		r.skipTo(n + len("\r\n"))
		return true, advance
	default:
		return false, r.endField(received, n, fieldsMax)
	}
}

// wholeField returns the length of a field's name, and of its line without the line end; 0 unless b begins
// with a complete line that can be accepted.
func wholeField(b []byte) (name, line int) {
	for name < len(b) && classes[b[name]]&tokenChar != 0 {
		name++
	}
	if name == 0 || name == len(b) || b[name] != ':' {
		return 0, 0
	}
	line = name + 1 + valueLength(b[name+1:])
	if line+1 < len(b) && b[line] == '\r' && b[line+1] == '\n' {
		return name, line
	}
	return 0, 0
}

// endField reads the header or trailer from r.at to end.
func (r *Request) endField(received []byte, end, fieldsMax int) Verdict {
	name, value := received[r.at:r.colon], Span{r.colon + 1, end}
	r.colon = 0
	r.skipTo(end + len("\r\n"))
	if r.fields++; r.fields > fieldsMax {
		return HeadTooLarge
	}
	// Length and first letter rule out most headers: they do not change how the request is read.
	switch len(name)<<8 | int(name[0]|0x20) {
	case len("host")<<8 | 'h', len("expect")<<8 | 'e', len("connection")<<8 | 'c',
		len("content-length")<<8 | 'c', len("transfer-encoding")<<8 | 't':
		if !r.special(name, trimSpace(received[value.From:value.To]), value) {
			return BadRequest
		}
	}
	return advance
}

// special reads a header that decides how to read the request. Such a header must not be a trailer.
func (r *Request) special(name, value []byte, at Span) bool {
	switch {
	case equalFold(name, "host"):
		if r.hasHost || !validHost(value) {
			return false
		}
		r.hasHost = true
	case equalFold(name, "content-length"):
		length, ok := parseLength(value)
		if r.hasLength || !ok {
			return false
		}
		r.hasLength, r.length = true, length
	case equalFold(name, "transfer-encoding"):
		if r.chunked || !equalFold(value, "chunked") {
			return false
		}
		r.chunked = true
	case equalFold(name, "connection"):
		r.close = r.close || listHas(value, "close")
		r.keepAlive = r.keepAlive || r.http10 && listHas(value, "keep-alive")
	case equalFold(name, "expect"):
		r.expects = r.expects || listHas(value, "100-continue")
		if r.Expect.To == 0 {
			r.Expect = at
		}
	default:
		return true
	}
	return r.stage != trailers
}

// parseLength reads a Content-Length: any number of 63 bits, even if it is too large for a body.
func parseLength(text []byte) (length int, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	for _, c := range text {
		if !isDigit(c) {
			return 0, false
		}
		digit := int(c - '0')
		if length > (math.MaxInt-digit)/10 {
			return 0, false
		}
		length = 10*length + digit
	}
	return length, true
}
