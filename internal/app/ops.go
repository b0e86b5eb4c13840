package app

import (
	"strconv"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/observe/figures"
	"flashsale/internal/observe/ops"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/traffic"
	"flashsale/internal/version"
	"flashsale/redisx"
)

// newOps makes the server of the metrics. statistics is nil where that room is off.
func (s *supervisor) newOps(statistics *traffic.Keeper) *ops.Server {
	var rooms []ops.Room
	if s.ledger != nil {
		rooms = append(rooms, s.showLedger)
	}
	if s.cfg.HasBot() {
		rooms = append(rooms, s.showBot)
	}
	if s.listed != nil {
		rooms = append(rooms, s.showBlocklist)
	}
	if statistics != nil {
		rooms = append(rooms, func(scrape *ops.Scrape) { showTraffic(scrape, statistics) })
	}
	if s.cfg.TLSCert != "" {
		s.certificateEnd.Store(s.sale.Certificate.Expires().UnixNano())
		rooms = append(rooms, s.showCertificate)
	}
	return ops.New(ops.Config{Figures: s.figures, Version: version.Module(), Started: s.started,
		Watch: s.watchSale(), Pieces: piecesOf(s.sale.catalog)}, s.opsListener, rooms...)
}

func (s *supervisor) showLedger(scrape *ops.Scrape) {
	scrape.SetFlag(figures.LedgerUp, s.writer.Load().Up())
}

func (s *supervisor) showBot(scrape *ops.Scrape) {
	scrape.SetFlag(figures.VKUp, s.repeats.Up())
	for group, refused := range s.repeats.Refused() {
		scrape.SetFlag(figures.VKTokenRefused, refused, strconv.FormatInt(group, 10))
	}
	if !scrape.RedisUp() {
		return
	}
	if n, err := s.repeats.Waiting(); err == nil {
		scrape.Set(figures.VKWaiting, float64(n))
	}
}

// showBlocklist shows the list that the workers serve. After a start its last check is its import, until the
// source has answered this process.
func (s *supervisor) showBlocklist(scrape *ops.Scrape) {
	scrape.Set(figures.BlocklistRefresh, s.cfg.BlocklistRefresh.Seconds())
	list := s.listed.List()
	if list == nil {
		scrape.Set(figures.Documents, 0)
		return
	}
	scrape.Set(figures.Documents, float64(list.Info().Stored))
	checked := time.UnixMilli(list.Info().Imported)
	if later := s.blocklist.Checked(); later.After(checked) {
		checked = later
	}
	scrape.SetAge(figures.BlocklistAge, checked)
}

func showTraffic(scrape *ops.Scrape, statistics *traffic.Keeper) {
	if !scrape.RedisUp() {
		return
	}
	if n, most, err := statistics.Keys(); err == nil {
		scrape.Set(figures.TrafficKeys, float64(n))
		scrape.Set(figures.TrafficKeysMax, float64(most))
	}
}

func (s *supervisor) showCertificate(scrape *ops.Scrape) {
	scrape.SetTime(figures.CertificateEnd, time.Unix(0, s.certificateEnd.Load()))
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
