package compare

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// NewKernel is what the kernel alone costs: one thread per worker on one epoll, which accepts, reads, picks
// a ready-made reply and writes it. It reads no more of a request than where it ends and whether the
// connection ends with it. What a server costs above it is the price of its own program.
func NewKernel() *Canned { return &Canned{serve: serveKernel} }

// kernelRequestMax is the limit of a request with its body, bytes; a longer one gets 400.
const kernelRequestMax = 64 << 10

// callRefused is the index of the reply to what is no request.
const callRefused = callCount

// kernelReplies are whole replies by call, first those after which the connection goes on, then those after
// which it ends. They are byte for byte what the floor sends, but for the time in Date.
type kernelReplies [2][callCount + 1][]byte

func newKernelReplies(bodies cannedBodies, now time.Time) *kernelReplies {
	r := &kernelReplies{}
	for call, body := range bodies {
		for ends, connection := range []string{"", "Connection: close\r\n"} {
			date := "Date: " + now.UTC().Format(http.TimeFormat) + "\r\n"
			if body == nil {
				r[ends][call] = []byte("HTTP/1.1 204 No Content\r\n" + date + connection + "\r\n")
				continue
			}
			r[ends][call] = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\n%sContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n%s\r\n%s", date, len(body), connection, body)
		}
	}
	r[1][callRefused] = []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	return r
}

func (r *kernelReplies) to(request kernelRequest) []byte {
	if request.ends {
		return r[1][request.call]
	}
	return r[0][request.call]
}

// kernelRequest is what is read of a request.
type kernelRequest struct {
	size int // bytes with the body; 0 = it is not whole yet
	call int
	ends bool // the connection, with the reply
}

// readKernelRequest reads the request that b begins with. What is no request, has chunks or is too long is
// callRefused.
func readKernelRequest(b []byte) kernelRequest {
	refused := kernelRequest{size: len(b), call: callRefused, ends: true}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return kernelRequest{}
	}
	_, target, _ := bytes.Cut(b[:end], []byte(" "))
	path, version, _ := bytes.Cut(target, []byte(" "))
	if !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return refused
	}
	if query := bytes.IndexByte(path, '?'); query >= 0 {
		path = path[:query]
	}
	request := kernelRequest{call: callOf(path), ends: string(version) != "HTTP/1.1\r"}
	length := 0
	for {
		begin := end + 1
		next := bytes.IndexByte(b[begin:], '\n')
		if next < 0 {
			return kernelRequest{}
		}
		end = begin + next
		if next <= 1 { // the empty line
			break
		}
		if !request.note(b[begin:end], &length) {
			return refused
		}
	}
	switch size := end + 1 + length; {
	case size > kernelRequestMax:
		return refused
	case size <= len(b):
		request.size = size
	}
	return request
}

// note takes in one line of the head and reports whether it can be served. Lines are told apart by their
// first letter and length before anything is compared.
func (r *kernelRequest) note(line []byte, length *int) bool {
	letter, colon := line[0]|0x20, bytes.IndexByte(line, ':')
	if letter != 'c' && letter != 't' || colon < 0 {
		return true
	}
	name, value := line[:colon], line[colon+1:]
	switch {
	case colon == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		return readLength(bytes.TrimSpace(value), length)
	case colon == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
		if bytes.EqualFold(bytes.TrimSpace(value), []byte("close")) {
			r.ends = true
		}
	case colon == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		return false
	}
	return true
}

// readLength reads a number of at most 9 digits.
func readLength(digits []byte, length *int) bool {
	if len(digits) == 0 || len(digits) > 9 {
		return false
	}
	*length = 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
		*length = *length*10 + int(c-'0')
	}
	return true
}
