package listener

import (
	"log/slog"
	"net"
	"net/http"
)

// httpHeadBytesMax limits the request line and the headers of a net/http server, in bytes.
const httpHeadBytesMax = 8 << 10

// NewHTTPServer makes a net/http server for a Listener. The Limiter enforces the time limits of the first
// byte, of a request's head, of replies and between requests. The server's own ReadTimeout limits the body,
// because only net/http knows when it reads one. A hijacked connection, such as a websocket, has no time
// limit except for each Write.
func NewHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:        handler,
		ConnState:      trackHTTP,
		ReadTimeout:    RequestTimeout,
		IdleTimeout:    IdleTimeout, // 0 would be ReadTimeout
		MaxHeaderBytes: httpHeadBytesMax,
		// Errors of single connections, such as resets, are noise.
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// trackHTTP sets the states that only net/http knows.
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
