package framing

import "bytes"

// Input is what a connection has received: the request that is being read, and the bytes behind it. Both
// engines of the server read requests by it. The zero value holds no buffer, as a connection should that
// waits for a request.
type Input struct {
	Request Request // that is being read

	buffer *[]byte
	begin  int // of the request
	filled int // end of the bytes
}

// Hold begins with a buffer in which this number of bytes stand.
func (in *Input) Hold(buffer *[]byte, filled int) { *in = Input{buffer: buffer, filled: filled} }

// Bytes are all from the beginning of the request on.
func (in *Input) Bytes() []byte {
	if in.buffer == nil {
		return nil
	}
	return (*in.buffer)[in.begin:in.filled]
}

// Empty reports whether no byte of a request is there.
func (in *Input) Empty() bool { return in.filled == in.begin }

// Scan continues to read the request, see Request.Scan.
func (in *Input) Scan(limits *Limits) Verdict { return in.Request.Scan(in.Bytes(), limits) }

// Room returns where the next bytes go, for Add. It is empty where one request fills a large buffer.
func (in *Input) Room(buffers *Buffers) []byte {
	switch {
	case in.buffer == nil:
		in.buffer = buffers.Small.Get().(*[]byte)
	case in.begin > 0: // requests that came before it make room
		in.filled = copy(*in.buffer, in.Bytes())
		in.begin = 0
	case in.filled == len(*in.buffer) && in.filled < buffers.largeBytes:
		in.buffer = buffers.Grow(in.buffer)
	}
	return (*in.buffer)[in.filled:]
}

// Enlarge goes on in a buffer of this length, for a request that fills a large one. Release does not keep
// it.
func (in *Input) Enlarge(bytes int, buffers *Buffers) {
	room := make([]byte, bytes)
	in.filled = copy(room, in.Bytes())
	buffers.Put(in.buffer)
	in.buffer, in.begin = &room, 0
}

// Add counts bytes that were read into Room.
func (in *Input) Add(n int) { in.filled += n }

// Whole returns the request, which has come whole, as it must be handed on: settled.
func (in *Input) Whole() []byte {
	in.filled = in.begin + len(in.Request.Settle(in.Bytes()))
	return (*in.buffer)[in.begin : in.begin+in.Request.Size()]
}

// Next goes on behind the request, which has come whole.
func (in *Input) Next() {
	in.begin += in.Request.Size()
	in.Request = Request{}
}

// Again reads the request once more from its beginning.
func (in *Input) Again() { in.Request = Request{} }

// Cut reports whether a client that sends nothing more has cut a request. Line ends alone are no request.
func (in *Input) Cut() bool { return len(bytes.Trim(in.Bytes(), "\r\n")) > 0 }

// Release gives the buffer back.
func (in *Input) Release(buffers *Buffers) {
	if in.buffer != nil {
		buffers.Put(in.buffer)
	}
	*in = Input{}
}
