package app

import (
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/observe/ops"
	"flashsale/internal/version"
	"flashsale/redisx"
)

// newOps makes the server of the metrics.
func (s *supervisor) newOps() *ops.Server {
	cfg := ops.Config{Figures: s.figures, Version: version.Module(), Started: s.started, Watch: s.watchSale(),
		Pieces: piecesOf(s.serving().catalog)}
	for _, p := range s.parts {
		if p.figures != nil {
			p.figures(&cfg)
		}
	}
	if s.cfg.TLSCert != "" {
		cfg.Certificate = func() time.Time { return s.serving().Certificate.Expires() }
	}
	return ops.New(cfg, s.opsListener)
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
	o := s.serving()
	redis := o.Redis
	redis.Timeout, redis.Quiet = min(redis.Timeout, ops.RedisTimeout), true
	redis.Effect = "the metrics of the sale are missing"
	return redisx.Join(redis, o.Sale, len(o.catalog.Foods()), 0)
}
