package compare

import (
	"fmt"
	"net"
	"os"

	"github.com/valyala/fasthttp"
)

// NewFloor is what HTTP alone costs: a bare fasthttp server with ready-made replies. No server built on
// fasthttp can be cheaper, so an order's cost is given as a multiple of the floor's, measured in the same
// minute on the same machine.
func NewFloor() *Canned { return &Canned{serve: serveFloor} }

func serveFloor(socket *os.File, bodies cannedBodies) error {
	listener, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("cannot take over socket: %w", err)
	}
	socket.Close()
	// Without the two headers that the product does not send either, the replies have the same size.
	server := &fasthttp.Server{Handler: bodies.answer, NoDefaultServerHeader: true,
		NoDefaultContentType: true}
	return server.Serve(listener)
}

func (b *cannedBodies) answer(ctx *fasthttp.RequestCtx) {
	body := b[callOf(ctx.Path())]
	if body == nil {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	ctx.Response.Header.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}
