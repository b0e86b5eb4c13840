package framing

import "bytes"

// Input holds the bytes that a connection has received: the request that is being read and the bytes behind
// it. Both servers read requests with it. The zero value holds no buffer, for connections that wait.
type Input struct {
	Request Request // being read

	buffer *[]byte
	begin  int // of the request
	filled int // end of the bytes
}

// Hold begins with a buffer that has this number of bytes.
func (in *Input) Hold(buffer *[]byte, filled int) { *in = Input{buffer: buffer, filled: filled} }

// Bytes returns all bytes from the beginning of the request on.
func (in *Input) Bytes() []byte {
	if in.buffer == nil {
		return nil
	}
	return (*in.buffer)[in.begin:in.filled]
}

// Empty reports whether no byte of a request has come.
func (in *Input) Empty() bool { return in.filled == in.begin }

// Scan continues to read the request, see Request.Scan.
func (in *Input) Scan(limits *Limits) Verdict { return in.Request.Scan(in.Bytes(), limits) }

// Room returns the place for the next bytes, for Add. It is empty if one request fills a large buffer.
func (in *Input) Room(buffers *Buffers) []byte {
	switch {
	case in.buffer == nil:
		in.buffer = buffers.Small.Get().(*[]byte)
	case in.begin > 0: // earlier requests make room
		in.filled = copy(*in.buffer, in.Bytes())
		in.begin = 0
	case in.filled == len(*in.buffer) && in.filled < buffers.largeBytes:
		in.buffer = buffers.Grow(in.buffer)
	}
	return (*in.buffer)[in.filled:]
}

// Enlarge moves a request that fills a large buffer into a buffer of this length. Release does not keep that
// buffer.
func (in *Input) Enlarge(bytes int, buffers *Buffers) {
	room := make([]byte, bytes)
	in.filled = copy(room, in.Bytes())
	buffers.Put(in.buffer)
	in.buffer, in.begin = &room, 0
}

// Shrink moves what is behind a large request into a buffer of the usual lengths. It returns false if that
// does not fit.
func (in *Input) Shrink(buffers *Buffers) bool {
	rest := in.Bytes()
	if len(rest) > buffers.Longest() {
		return false
	}
	if len(rest) == 0 {
		in.Release(buffers)
		return true
	}
	in.buffer, in.begin, in.filled = buffers.With(rest), 0, len(rest)
	return true
}

// Add counts bytes that were read into Room.
func (in *Input) Add(n int) { in.filled += n }

// Whole returns the complete request, settled for the next reader.
func (in *Input) Whole() []byte {
	in.filled = in.begin + len(in.Request.Settle(in.Bytes()))
	return (*in.buffer)[in.begin : in.begin+in.Request.Size()]
}

// Next moves on behind the complete request.
func (in *Input) Next() {
	in.begin += in.Request.Size()
	in.Request = Request{}
}

// Again begins to read the request anew.
func (in *Input) Again() { in.Request = Request{} }

// Cut reports whether a client that has stopped sending has cut a request. Line ends alone are no request.
func (in *Input) Cut() bool { return len(bytes.Trim(in.Bytes(), "\r\n")) > 0 }

// Release gives the buffer back.
func (in *Input) Release(buffers *Buffers) {
	if in.buffer != nil {
		buffers.Put(in.buffer)
	}
	*in = Input{}
}
