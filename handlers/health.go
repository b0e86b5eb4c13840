package handlers

import (
	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"
)

var aliveBody = []byte(`{"status":"alive"}`)

// alive says that the process answers.
func (s *Server) alive(ctx *fasthttp.RequestCtx) { replyRaw(ctx, aliveBody) }

// ready says that a sale can be served: Redis answers and holds it, the catalogue and the stock are loaded,
// and the server is not about to stop.
func (s *Server) ready(ctx *fasthttp.RequestCtx) {
	if s.foods.Load() == nil || s.draining.Load() {
		reply(ctx, errUnavailable)
		return
	}
	if err := s.cfg.Sale.Check(); err != nil {
		replyOutcome(ctx, err)
		return
	}
	body, err := json.Marshal(readiness{"ready", s.cfg.Sale.ID(), s.cfg.Catalog.Users(), len(s.cfg.Catalog.Foods())})
	if err != nil {
		replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, body)
}

// readiness is what GET /readyz shows.
type readiness struct {
	Status string `json:"status"`
	Sale   string `json:"sale"`
	Users  int    `json:"users"`
	Foods  int    `json:"foods"`
}
