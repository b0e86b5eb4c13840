package app

import (
	"flashsale/internal/catalog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/version"
	"flashsale/redisx"
)

// newOps makes the server of the metrics.
func (s *supervisor) newOps() *ops.Server {
	var shown []ops.Room
	for _, p := range s.parts {
		if p.figures != nil {
			shown = append(shown, p.figures)
		}
	}
	if s.cfg.TLSCert != "" {
		shown = append(shown, s.showCertificate)
	}
	return ops.New(ops.Config{Figures: s.figures, Version: version.Module(), Started: s.started,
		Watch: s.watchSale(), Pieces: piecesOf(s.serving().catalog)}, s.opsListener, shown...)
}

func (s *supervisor) showCertificate(scrape *ops.Scrape) {
	scrape.SetTime(figures.CertificateEnd, s.serving().Certificate.Expires())
}

// piecesOf is the number of pieces of all foods at the beginning of a sale.
func piecesOf(c *catalog.Catalog) (pieces int64) {
	for _, food := range c.Foods() {
		pieces += food.Stock
	}
	return pieces
}

// watchSale returns the sale for the metrics. Its timeout is short: no scrape may hang while Redis is away.
func (s *supervisor) watchSale() *redisx.Sale {
	o := s.serving()
	redis := o.Redis
	redis.Timeout, redis.Quiet = min(redis.Timeout, ops.RedisTimeout), true
	redis.Effect = "the metrics of the sale are missing"
	return redisx.Join(redis, o.Sale, len(o.catalog.Foods()), 0)
}
