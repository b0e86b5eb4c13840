package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	replyHeadMax  = 16 << 10 // bytes up to the empty line
	replyMax      = 16 << 20 // bytes of head, body and chunk sizes together
	replySizeHint = 4 << 10  // first buffer: a list of a hundred foods fits
)

// errMalformed is a reply that is not HTTP/1.1, or longer than the limits above.
var errMalformed = errors.New("malformed reply")

// reply is one HTTP response. Head and body are valid until the next read.
type reply struct {
	status int
	head   []byte // with its empty line
	body   []byte
	closes bool // the connection cannot carry another request
}

// replyHead is what a reader must know of a head to find the end of the body.
type replyHead struct {
	status  int
	length  int // of the body, -1 = not given
	chunked bool
	closes  bool
}

// replyReader reads replies one at a time into one buffer, used again for each: no allocation once it has
// grown.
type replyReader struct {
	buf    []byte
	filled int // bytes of the reply read so far
}

// read reads one reply. A connection that ends before the first byte gives io.EOF, later
// io.ErrUnexpectedEOF. Bytes after the reply are errMalformed: there was no request for them.
func (r *replyReader) read(src io.Reader) (reply, error) {
	r.filled = 0
	start, err := r.readHead(src)
	if err != nil {
		return reply{}, err
	}
	head, err := parseHead(r.buf[:start])
	if err != nil {
		return reply{}, err
	}
	bodyEnd, end := start, start
	switch {
	case head.status == 204 || head.status == 304:
	case head.chunked:
		bodyEnd, end, err = r.readChunks(src, start)
	case head.length >= 0:
		bodyEnd, end = start+head.length, start+head.length
		err = r.fill(src, end)
	default:
		head.closes = true
		err = r.readAll(src)
		bodyEnd, end = r.filled, r.filled
	}
	if err != nil {
		return reply{}, err
	}
	if r.filled > end {
		return reply{}, fmt.Errorf("%w: %d bytes after its end", errMalformed, r.filled-end)
	}
	return reply{status: head.status, head: r.buf[:start], body: r.buf[start:bodyEnd], closes: head.closes}, nil
}

// more reads what the connection has, at least one byte.
func (r *replyReader) more(src io.Reader) error {
	if r.filled == len(r.buf) {
		if r.filled >= replyMax {
			return fmt.Errorf("%w: more than %d bytes", errMalformed, replyMax)
		}
		grown := make([]byte, max(replySizeHint, 2*len(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	n, err := src.Read(r.buf[r.filled:])
	r.filled += n
	switch {
	case n > 0:
		return nil
	case err == io.EOF && r.filled > 0:
		return io.ErrUnexpectedEOF
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// fill reads until the reply's first end bytes are there.
func (r *replyReader) fill(src io.Reader, end int) error {
	if end > replyMax {
		return fmt.Errorf("%w: more than %d bytes", errMalformed, replyMax)
	}
	for r.filled < end {
		if err := r.more(src); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads until the connection ends.
func (r *replyReader) readAll(src io.Reader) error {
	for {
		if err := r.more(src); errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// readHead reads up to the empty line and returns where the body starts.
func (r *replyReader) readHead(src io.Reader) (int, error) {
	for searched := 0; ; {
		if err := r.more(src); err != nil {
			return 0, err
		}
		if i := bytes.Index(r.buf[searched:r.filled], []byte("\r\n\r\n")); i >= 0 &&
			searched+i <= replyHeadMax {
			return searched + i + 4, nil
		}
		if r.filled > replyHeadMax {
			return 0, fmt.Errorf("%w: head of more than %d bytes", errMalformed, replyHeadMax)
		}
		searched = max(0, r.filled-3)
	}
}

// readChunks decodes a chunked body in place, from start, and returns where the body and where the reply
// end.
func (r *replyReader) readChunks(src io.Reader, start int) (bodyEnd, end int, err error) {
	bodyEnd, end = start, start
	for {
		line, next, err := r.readLine(src, end)
		if err != nil {
			return 0, 0, err
		}
		size, err := parseSize(line)
		if err != nil {
			return 0, 0, err
		}
		end = next
		if size == 0 {
			break
		}
		if err := r.fill(src, end+size+2); err != nil {
			return 0, 0, err
		}
		copy(r.buf[bodyEnd:], r.buf[end:end+size])
		bodyEnd, end = bodyEnd+size, end+size
		if string(r.buf[end:end+2]) != "\r\n" {
			return 0, 0, fmt.Errorf("%w: chunk longer than its size", errMalformed)
		}
		end += 2
	}
	for {
		trailer, next, err := r.readLine(src, end)
		if err != nil {
			return 0, 0, err
		}
		end = next
		if len(trailer) == 0 {
			return bodyEnd, end, nil
		}
	}
}

// readLine returns the line at start without its end, and where the next one starts.
func (r *replyReader) readLine(src io.Reader, start int) (line []byte, next int, err error) {
	for {
		if i := bytes.Index(r.buf[start:r.filled], []byte("\r\n")); i >= 0 {
			return r.buf[start : start+i], start + i + 2, nil
		}
		if r.filled-start > replyHeadMax {
			return nil, 0, fmt.Errorf("%w: line of more than %d bytes", errMalformed, replyHeadMax)
		}
		if err := r.more(src); err != nil {
			return nil, 0, err
		}
	}
}

// parseSize reads the size of a chunk, hexadecimal, without its extensions.
func parseSize(line []byte) (int, error) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	size := 0
	for _, c := range digits {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || digit < 0 || size > replyMax {
			return 0, fmt.Errorf("%w: chunk size %q", errMalformed, line)
		}
		size = size<<4 | digit
	}
	if len(digits) == 0 {
		return 0, fmt.Errorf("%w: chunk without size", errMalformed)
	}
	return size, nil
}

// parseHead reads a head that ends with its empty line.
func parseHead(b []byte) (replyHead, error) {
	head := replyHead{length: -1}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || (line[7] != '0' && line[7] != '1') ||
		line[8] != ' ' ||
		(len(line) > 12 && line[12] != ' ') || bytes.IndexByte(line, '\n') >= 0 {
		return head, fmt.Errorf("%w: status line %.40q", errMalformed, line)
	}
	status, ok := parseDigits(line[9:12])
	if !ok || status < 200 {
		return head, fmt.Errorf("%w: status %q", errMalformed, line[9:12])
	}
	head.status = status
	old := line[7] == '0'
	head.closes = old
	for len(rest) > 2 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || bytes.IndexByte(line, '\n') >= 0 {
			return head, fmt.Errorf("%w: header %.40q", errMalformed, line)
		}
		if err := head.note(name, bytes.Trim(value, " \t")); err != nil {
			return head, err
		}
	}
	if old && head.chunked {
		return head, fmt.Errorf("%w: chunks in HTTP/1.0", errMalformed)
	}
	return head, nil
}

// note takes in one header. Lengths are compared first because most headers are none of the three.
func (h *replyHead) note(name, value []byte) error {
	switch {
	case len(name) == len("Content-Length") && equalFold(name, "Content-Length"):
		length, ok := parseDigits(value)
		if !ok || h.length >= 0 && h.length != length {
			return fmt.Errorf("%w: Content-Length %.40q", errMalformed, value)
		}
		h.length = length
	case len(name) == len("Transfer-Encoding") && equalFold(name, "Transfer-Encoding"):
		if !equalFold(value, "chunked") {
			return fmt.Errorf("%w: Transfer-Encoding %.40q", errMalformed, value)
		}
		h.chunked = true
	case len(name) == len("Connection") && equalFold(name, "Connection"):
		h.closes = equalFold(value, "close") || h.closes && !equalFold(value, "keep-alive")
	}
	return nil
}

func equalFold(b []byte, s string) bool { return strings.EqualFold(string(b), s) }

// parseDigits reads a decimal number of at most 9 digits, so that it cannot overflow.
func parseDigits(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
