package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Limits on one reply. The replies to our calls stay far below. A hash that is read whole may need more: see
// Options.FieldsMax.
const (
	replyLineMax     = 16 << 10 // bytes of a line: a status, an error, a number, a length
	replyStringMax   = 1 << 20  // bytes of a string
	replyDepthMax    = 8        // lists inside lists; a stream has five
	replyElementsMax = 64 << 10 // elements of all its lists
	replyBytesMax    = 8 << 20  // bytes in all

	fieldElements = 2  // more elements for each field of a hash: its name and its value
	fieldBytes    = 64 // more bytes for each field
)

// errBadReply marks bytes from Redis that are no reply, or not the expected one.
var errBadReply = errors.New("cannot read a reply of Redis")

var lineEnd = []byte("\r\n")

// replyGuard checks the replies of Redis (RESP 2) before radix reads them: radix allocates a claimed length
// before the bytes come, and panics on a negative length. After a fault every further check returns that
// fault.
type replyGuard struct {
	elementsMax, bytesMax int

	line  []byte             // an incomplete line
	text  int                // bytes of a string still to come, with its line end
	due   [replyDepthMax]int // elements still to come, of each open list
	depth int                // number of open lists

	elements, bytes int // in the reply under way
	replies         int // complete replies
	fault           error
}

// newReplyGuard makes a guard for replies with hashes of at most fieldsMax fields.
func newReplyGuard(fieldsMax int) *replyGuard {
	return &replyGuard{
		elementsMax: replyElementsMax + fieldsMax*fieldElements,
		bytesMax:    replyBytesMax + fieldsMax*fieldBytes,
	}
}

// check checks the next bytes from Redis, in any pieces. Errors: errBadReply, with the limit's name.
func (g *replyGuard) check(b []byte) error {
	for len(b) > 0 && g.fault == nil {
		var n int
		if g.text > 0 {
			n = g.takeText(b)
		} else {
			n = g.takeLine(b)
		}
		b = b[n:]
	}
	return g.fault
}

// takeText takes the string's bytes that b has.
func (g *replyGuard) takeText(b []byte) int {
	n := min(len(b), g.text)
	end := g.text - len(lineEnd) // where the line end begins in b
	for i := max(end, 0); i < n; i++ {
		if b[i] != lineEnd[i-end] {
			g.refuse("a string is longer than it was said to be")
		}
	}
	if g.text -= n; g.text == 0 {
		g.endElement()
	}
	return n
}

// takeLine takes the line's bytes that b has.
func (g *replyGuard) takeLine(b []byte) int {
	n := bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	if len(g.line)+n > replyLineMax {
		g.refuse("a line of more than %d bytes (replyLineMax)", replyLineMax)
		return n
	}
	line := b[:n]
	if len(g.line) > 0 || b[n-1] != '\n' {
		g.line = append(g.line, line...)
		line = g.line
	}
	if b[n-1] == '\n' {
		g.takeHeader(line)
		g.line = g.line[:0]
	}
	return n
}

// takeHeader takes a complete line: a reply, or the start of one.
func (g *replyGuard) takeHeader(line []byte) {
	if len(line) < 3 || line[len(line)-2] != '\r' {
		g.refuse("the line %.40q", line)
		return
	}
	g.count(0, len(line))
	content := line[:len(line)-2]
	switch content[0] {
	case '+', '-', ':':
		g.endElement()
	case '$':
		if n := g.length(content, "a string", replyStringMax, "replyStringMax"); n < 0 {
			g.endElement()
		} else {
			g.text = n + len(lineEnd)
			g.count(0, g.text)
		}
	case '*':
		n := g.length(content, "a list", g.elementsMax, "replyElementsMax")
		g.count(max(n, 0), 0)
		g.beginList(n)
	default:
		g.refuse("the line %.40q", line)
	}
}

// beginList expects n elements; below one there is no list.
func (g *replyGuard) beginList(n int) {
	switch {
	case n < 1:
		g.endElement()
	case g.depth == replyDepthMax:
		g.refuse("more than %d lists inside each other (replyDepthMax)", replyDepthMax)
	default:
		g.due[g.depth] = n
		g.depth++
	}
}

// endElement ends an element and each list that it completes.
func (g *replyGuard) endElement() {
	for g.depth > 0 {
		if g.due[g.depth-1]--; g.due[g.depth-1] > 0 {
			return
		}
		g.depth--
	}
	g.elements, g.bytes = 0, 0
	g.replies++
}

// length reads the number in a header; -1 stands for a missing string or list.
func (g *replyGuard) length(header []byte, what string, most int, limit string) int {
	n, err := strconv.Atoi(string(header[1:]))
	switch {
	case n > most: // also if it does not fit into an int
		g.refuse("%s of %.40s, more than %d (%s)", what, header[1:], most, limit)
	case err != nil || n < -1:
		g.refuse("%s of the length %.40q", what, header[1:])
	}
	return n
}

// count adds to the reply's size, real or claimed.
func (g *replyGuard) count(elements, bytes int) {
	g.elements += elements
	g.bytes += bytes
	if g.elements > g.elementsMax {
		g.refuse("a reply of more than %d elements (replyElementsMax)", g.elementsMax)
	} else if g.bytes > g.bytesMax {
		g.refuse("a reply of more than %d bytes (replyBytesMax)", g.bytesMax)
	}
}

// refuse keeps the first fault.
func (g *replyGuard) refuse(format string, args ...any) {
	if g.fault == nil {
		g.fault = fmt.Errorf("%w: "+format, append([]any{errBadReply}, args...)...)
	}
}
