package handlers

import (
	"time"

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
	backlog, err := s.cfg.Sale.Backlog()
	if err != nil {
		replyOutcome(ctx, err)
		return
	}
	detail := readiness{Status: "ready", Sale: s.cfg.Sale.ID(), Users: s.cfg.Catalog.Users(), Foods: len(s.cfg.Catalog.Foods())}
	if backlog.Kept { // a database that is behind does not hold up the sale: ready all the same
		detail.Ledger = &ledgerLag{backlog.Orders, backlog.Age(time.Now()).Seconds()}
	}
	body, err := json.Marshal(detail)
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

	Ledger *ledgerLag `json:"ledger,omitempty"` // of a sale that keeps one
}

// ledgerLag is what is not in the database yet.
type ledgerLag struct {
	Waiting int     `json:"orders_waiting"`
	Oldest  float64 `json:"oldest_seconds"` // how long the oldest of them waits
}
