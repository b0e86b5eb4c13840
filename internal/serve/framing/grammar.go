package framing

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Classes of characters (RFC 9110, 5.6.2; RFC 3986, 2 and 3).
const (
	tokenChar  = 1 << iota // of methods, names of headers, names in chunk extensions
	valueChar              // of values of headers
	quotedChar             // of quoted strings, but for the quoted pairs
	pathChar               // of a path or a query; % begins an encoded character
	hostChar               // of a name or an IPv4 address
)

var classes = func() (table [256]uint8) {
	set := func(class uint8, chars string) {
		for _, c := range []byte(chars) {
			table[c] |= class
		}
	}
	const (
		letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		unreserved = letters + "-._~"
		delimiters = "!$&'()*+,;="
	)
	set(tokenChar, letters+"!#$%&'*+-.^_`|~")
	set(pathChar, unreserved+delimiters+":@/?%")
	set(hostChar, unreserved+delimiters)
	for c := range table {
		if c == '\t' || c >= ' ' && c != 0x7f {
			table[c] |= valueChar
			if c != '"' && c != '\\' {
				table[c] |= quotedChar
			}
		}
	}
	return table
}()

// tokenLength returns how many characters at the beginning may be in a token.
func tokenLength(b []byte) int { return classLength(b, tokenChar) }

func classLength(b []byte, class uint8) int {
	for i, c := range b {
		if classes[c]&class == 0 {
			return i
		}
	}
	return len(b)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// valueLength returns how many characters at the beginning may be in the value of a header: all before the
// first control character except TAB. It looks at eight bytes at a time.
func valueLength(b []byte) int {
	n := 0
	for n+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[n:])
		// The lowest high bit is in the first byte that is DEL or below ' ', or in an innocent byte before it.
		suspect := ((w - ' '*ones) | (w + ones)) &^ w & highs
		if suspect == 0 {
			n += 8
			continue
		}
		n += bits.TrailingZeros64(suspect) / 8
		if classes[b[n]]&valueChar == 0 {
			return n
		}
		n++
	}
	return n + classLength(b[n:], valueChar)
}

// validPath reports whether a path with its query has only characters of a URL, and complete encoded
// characters.
func validPath(b []byte) bool {
	for i, c := range b {
		if classes[c]&pathChar == 0 {
			return false
		}
		if c == '%' && (i+2 >= len(b) || hexValue(b[i+1]) < 0 || hexValue(b[i+2]) < 0) {
			return false
		}
	}
	return true
}

// validHost reports whether b is a name or an address, with a port or without: uri-host [ ":" port ] (RFC
// 9110, 7.2). An encoded character is refused: DNS has no such names.
func validHost(b []byte) bool {
	n := classLength(b, hostChar)
	if n == 0 && len(b) > 0 && b[0] == '[' {
		if n = literalLength(b); n < 0 {
			return false
		}
	}
	return n > 0 && (n == len(b) || b[n] == ':' && allDigits(b[n+1:]))
}

// literalLength returns the length of the IPv6 address in brackets at the beginning of b, -1 without one.
func literalLength(b []byte) int {
	const longest = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]")
	for i, c := range b[:min(len(b), longest)] {
		if c != ']' {
			continue
		}
		if a, err := netip.ParseAddr(string(b[1:i])); err != nil || !a.Is6() || a.Zone() != "" {
			return -1
		}
		return i + 1
	}
	return -1
}

// hasPort reports whether a valid host ends with a port of at least one digit.
func hasPort(host []byte) bool {
	n := len(host)
	for n > 0 && isDigit(host[n-1]) {
		n--
	}
	return n > 0 && n < len(host) && host[n-1] == ':'
}

// chunkSize reads the line of a chunk: its size, and extensions, which are ignored (RFC 9112, 7.1). It
// refuses white space in them, although a recipient may tolerate that.
func chunkSize(line []byte) (size uint64, ok bool) {
	const digitsMax = 15 // enough for any size, and without overflow
	n := 0
	for ; n < len(line) && hexValue(line[n]) >= 0; n++ {
		if n == digitsMax {
			return 0, false
		}
		size = size<<4 | uint64(hexValue(line[n]))
	}
	if n == 0 {
		return 0, false
	}
	for line = line[n:]; len(line) > 0; {
		n := extensionLength(line)
		if n < 0 {
			return 0, false
		}
		line = line[n:]
	}
	return size, true
}

// extensionLength returns the length of the chunk extension at the beginning of b: ;name, ;name=token or
// ;name="text". It returns -1 if there is none.
func extensionLength(b []byte) int {
	if b[0] != ';' {
		return -1
	}
	name := tokenLength(b[1:])
	if name == 0 {
		return -1
	}
	n := 1 + name
	if n == len(b) || b[n] != '=' {
		return n
	}
	n++
	if n < len(b) && b[n] == '"' {
		if quoted := quotedLength(b[n:]); quoted > 0 {
			return n + quoted
		}
		return -1
	}
	value := tokenLength(b[n:])
	if value == 0 {
		return -1
	}
	return n + value
}

// quotedLength returns the length of the quoted string at the beginning of b, -1 if it has no end.
func quotedLength(b []byte) int {
	for n := 1; n < len(b); n++ {
		switch c := b[n]; {
		case c == '"':
			return n + 1
		case c == '\\' && n+1 < len(b) && classes[b[n+1]]&valueChar != 0:
			n++
		case classes[c]&quotedChar == 0:
			return -1
		}
	}
	return -1
}

// listHas reports whether a comma-separated list has a value, in upper or lower case (RFC 9110, 5.6.1).
func listHas(list []byte, value string) bool {
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n] != ',' {
			n++
		}
		if equalFold(trimSpace(list[:n]), value) {
			return true
		}
		list = list[min(n+1, len(list)):]
	}
	return false
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// equalFold reports whether b is the text in upper or lower case. The text has no capital letters.
func equalFold(b []byte, text string) bool {
	if len(b) != len(text) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != text[i] {
			return false
		}
	}
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// hexValue returns the value of a hexadecimal digit, -1 for any other character.
func hexValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
