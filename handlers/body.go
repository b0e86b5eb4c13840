package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// member is a field of a JSON body, with the value of its last occurrence.
type member struct {
	name string
	kind byte   // '"' a string, '0' a number, 'x' anything else, 0 missing
	text []byte // content of the string, or digits of the number
	raw  []byte // the value as JSON; a string's quotes included

	decoded  bool // the text differs from the bytes between the quotes of raw
	replaced bool // the string was not all Unicode: U+FFFD replaces the rest
}

// readBody reads the members of a JSON object and refuses any other member: it may be a typing error, and
// the call would do something else than was meant.
func readBody(body []byte, members []member) *failure {
	if f := readContestBody(body, members); f != nil {
		return f
	}
	s := scanner{rest: body}
	for name := range s.members() {
		if !slices.ContainsFunc(members, func(m member) bool { return m.name == string(name) }) {
			return unknownField(name, members)
		}
	}
	return nil
}

// nameShown is how many characters of an unknown name the refusal repeats.
const nameShown = 64

// unknownField is the failure for a member that a call does not have. It lists those that the call has.
func unknownField(name []byte, members []member) *failure {
	shown := []rune(string(name))
	if len(shown) > nameShown {
		shown = append(shown[:nameShown], '…')
	}
	var known []string
	for _, m := range members {
		known = append(known, m.name)
	}
	return inBoth(400, "UNKNOWN_FIELD",
		fmt.Sprintf("未知字段：%s；可用字段：%s", string(shown), strings.Join(known, "、")),
		fmt.Sprintf("There is no field %s here; there are %s.", string(shown), strings.Join(known, ", ")))
}

// readContestBody reads the members of a JSON object and ignores all others, as the calls of the contest do.
func readContestBody(body []byte, members []member) *failure {
	if len(body) == 0 {
		return errEmptyRequest
	}
	if !scanPlain(body, members) && !decode(body, members) {
		return errMalformedJSON
	}
	return nil
}

// appendJSON appends a string as JSON.
func (m *member) appendJSON(dst []byte) []byte {
	if !m.decoded {
		return append(dst, m.raw...)
	}
	quoted, _ := json.Marshal(string(m.text)) // a string can always be written
	return append(dst, quoted...)
}

func (m *member) string() (text []byte, ok bool) { return m.text, m.kind == '"' }

func (m *member) boolean() (value, ok bool) {
	value = string(m.raw) == "true"
	return value, m.kind == 'x' && (value || string(m.raw) == "false")
}

func (m *member) integer() (n int64, ok bool) {
	if m.kind != '0' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(m.text), 10, 64) // refuses fractions, exponents and more than 64 bits
	return n, err == nil
}

// decode reads any JSON object. If a name occurs twice, the last value counts. encoding/json decides what is
// valid; decode then walks through the body once. So the work depends only on the length of the body: anyone
// may send any body to the login.
func decode(body []byte, members []member) bool {
	if !json.Valid(body) {
		return false
	}
	for i := range members {
		members[i].kind, members[i].raw, members[i].decoded = 0, nil, false
	}
	s := scanner{rest: bytes.TrimLeft(body, " \t\r\n")}
	if s.rest[0] != '{' && s.rest[0] != 'n' { // null is an object without members for encoding/json
		return false
	}
	for name, raw := range s.members() {
		for i := range members {
			if members[i].name == string(name) {
				members[i].raw = raw
			}
		}
	}
	for i := range members {
		members[i].read()
	}
	return true
}

// members yields the names and the values of a valid JSON object; null is one without members. A name is
// valid until the next one only.
func (s *scanner) members() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, raw []byte) bool) {
		var scratch []byte
		for more := s.next('{') && !s.next('}'); more; more = s.next(',') {
			name := s.value()
			name = name[1 : len(name)-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				scratch, _ = appendText(scratch[:0], name)
				name = scratch
			}
			s.next(':')
			if !yield(name, s.value()) {
				return
			}
		}
	}
}

// read sets kind and text from raw, unless raw is missing.
func (m *member) read() {
	switch {
	case m.raw == nil:
	case m.raw[0] == '"':
		var unicode bool
		m.text, unicode = appendText(make([]byte, 0, len(m.raw)), m.raw[1:len(m.raw)-1])
		m.kind, m.replaced = '"', !unicode
		m.decoded = true
	case m.raw[0] == '-' || m.raw[0] >= '0' && m.raw[0] <= '9':
		m.kind, m.text = '0', m.raw
	default:
		m.kind = 'x'
	}
}

// appendText appends the text of a valid JSON string. Like encoding/json it writes U+FFFD for bytes that are
// no UTF-8 and for surrogates without their other half. unicode reports whether the text is all Unicode.
func appendText(dst, content []byte) (text []byte, unicode bool) {
	unicode = true
	for len(content) > 0 {
		size := 1
		switch c := content[0]; {
		case c == '\\':
			var r rune
			r, size = escaped(content)
			unicode = unicode && !utf16.IsSurrogate(r)
			dst = utf8.AppendRune(dst, r) // U+FFFD for a surrogate
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			var r rune
			r, size = utf8.DecodeRune(content)
			unicode = unicode && (r != utf8.RuneError || size > 1)
			dst = utf8.AppendRune(dst, r)
		}
		content = content[size:]
	}
	return dst, unicode
}

// escaped returns the character of the escape at the beginning of the text and the length of the escape; two
// escapes for the halves of one character count as one.
func escaped(text []byte) (r rune, size int) {
	const unit = len(`\u0000`)
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), text[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r = codeUnit(text)
	if utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, codeUnit(text[unit:])); both != utf8.RuneError {
			return both, 2 * unit
		}
	}
	return r, unit
}

// codeUnit returns the UTF-16 code unit of the escape at the beginning of the text, 0 without an escape.
func codeUnit(text []byte) rune {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}

// scanPlain reads what most clients send: a flat object of integers and of strings without escapes. It does
// not allocate; BenchmarkReadBody compares it with decode. False means "not sure": decode then decides.
func scanPlain(body []byte, members []member) bool {
	s := scanner{rest: body}
	if !s.next('{') {
		return false
	}
	for {
		name, ok := s.string()
		if !ok || !s.next(':') {
			return false
		}
		kind, text, raw := byte('"'), []byte(nil), s.rest
		if len(s.rest) > 0 && s.rest[0] == '"' {
			text, ok = s.string()
		} else {
			kind = '0'
			text, ok = s.integer()
		}
		if !ok {
			return false
		}
		raw = raw[:len(raw)-len(s.rest)]
		for i := range members {
			if m := &members[i]; m.name == string(name) {
				m.kind, m.text, m.raw = kind, text, raw
			}
		}
		if s.next(',') {
			continue
		}
		return s.next('}') && len(s.rest) == 0
	}
}

type scanner struct {
	rest []byte
}

// next skips the character c and the white space around it.
func (s *scanner) next(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	s.space()
	return true
}

func (s *scanner) space() {
	for len(s.rest) > 0 {
		switch s.rest[0] {
		case ' ', '\t', '\r', '\n':
			s.rest = s.rest[1:]
		default:
			return
		}
	}
}

// string reads a string without escapes and returns its content.
func (s *scanner) string() ([]byte, bool) {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false
	}
	ascii := true
	for i, c := range s.rest[1:] {
		switch {
		case c == '"':
			text := s.rest[1 : 1+i]
			s.rest = s.rest[i+2:]
			return text, ascii || utf8.Valid(text)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// value reads any value of valid JSON.
func (s *scanner) value() []byte {
	n, depth, quoted := 0, 0, false
	for ; n < len(s.rest); n++ {
		switch c := s.rest[n]; {
		case quoted && c == '\\':
			n++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && bytes.IndexByte(valueEnds, c) >= 0:
			value := s.rest[:n]
			s.rest = s.rest[n:]
			return value
		}
	}
	value := s.rest
	s.rest = nil
	return value
}

// valueEnds are the characters that may follow a value outside an array.
var valueEnds = []byte(",:} \t\r\n")

// integer reads digits with an optional minus sign and without leading zeros.
func (s *scanner) integer() ([]byte, bool) {
	n := 0
	if len(s.rest) > 0 && s.rest[0] == '-' {
		n = 1
	}
	first := n
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	if n == first || s.rest[first] == '0' && n > first+1 {
		return nil, false
	}
	digits := s.rest[:n]
	s.rest = s.rest[n:]
	return digits, true
}
