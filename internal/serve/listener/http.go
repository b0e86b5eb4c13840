package listener

import (
	"log/slog"
	"net"
	"net/http"
)

// httpHeadBytesMax limits the request line and the headers of a net/http server, in bytes.
const httpHeadBytesMax = 8 << 10

// NewHTTPServer makes a net/http server for a Listener. The Limiter keeps the times for the first byte, for
// a request's head, for replies and between requests. The time for a body is the server's own ReadTimeout,
// because only net/http knows when it reads one. A connection that a handler hijacks, as for a websocket,
// has no limit but that of each Write.
func NewHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:        handler,
		ConnState:      trackHTTP,
		ReadTimeout:    RequestTimeout,
		IdleTimeout:    IdleTimeout, // 0 would be ReadTimeout
		MaxHeaderBytes: httpHeadBytesMax,
		// Single connections: with many clients their resets are noise.
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// trackHTTP enters the states that only net/http knows of.
func trackHTTP(c net.Conn, state http.ConnState) {
	conn, ok := c.(*Conn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive, http.StateHijacked:
		conn.EnterServing()
	case http.StateIdle:
		conn.EnterIdle()
	}
}
