package app

import (
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/version"
	"flashsale/redisx"
)

// newOps makes the server of the metrics. statistics is nil where that room is off.
func (s *supervisor) newOps(statistics *traffic.Keeper) *ops.Server {
	cfg := ops.Config{Figures: s.figures, Version: version.Module(), Started: s.started, Watch: s.watchSale(),
		Pieces: piecesOf(s.sale.catalog)}
	if s.ledger != nil {
		cfg.Ledger = func() bool { return s.writer.Load().Up() }
	}
	if s.cfg.HasBot() {
		cfg.Replies, cfg.Replying, cfg.RefusedTokens = s.repeats.Waiting, s.repeats.Up, s.repeats.Refused
	}
	if statistics != nil {
		cfg.TrafficKeys = statistics.Keys
	}
	if s.listed != nil {
		cfg.Blocklist = s.blocklistFigures
	}
	if s.cfg.TLSCert != "" {
		s.certificateEnd.Store(s.sale.Certificate.Expires().UnixNano())
		cfg.Certificate = func() time.Time { return time.Unix(0, s.certificateEnd.Load()) }
	}
	return ops.New(cfg, s.opsListener)
}

// blocklistFigures is what the metrics show of the list. After a start its last check is its import, until
// the source has answered this process.
func (s *supervisor) blocklistFigures() ops.Blocklist {
	found := ops.Blocklist{Refresh: s.cfg.BlocklistRefresh}
	if list := s.listed.List(); list != nil {
		found.Documents, found.Checked = list.Info().Stored, time.UnixMilli(list.Info().Imported)
		if checked := s.blocklist.Checked(); checked.After(found.Checked) {
			found.Checked = checked
		}
	}
	return found
}

// piecesOf is the number of pieces of all foods at the beginning of a sale.
func piecesOf(c *catalog.Catalog) (pieces int64) {
	for _, food := range c.Foods() {
		pieces += food.Stock
	}
	return pieces
}

// watchSale is the sale for the metrics: no scrape may hang while Redis is away.
func (s *supervisor) watchSale() *redisx.Sale {
	redis := s.sale.Redis
	redis.Timeout, redis.Quiet = min(redis.Timeout, ops.RedisTimeout), true
	redis.Effect = "the metrics of the sale are missing"
	return redisx.Join(redis, s.sale.Sale, len(s.sale.catalog.Foods()), 0)
}

// watchBlocklist has the supervisor know the list that the workers serve, nil where there is none.
func (s *supervisor) watchBlocklist(path string) {
	if s.opsListener != nil && s.blocklist != nil {
		s.listed = blocklist.New(path)
	}
}
