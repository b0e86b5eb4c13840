package app

import (
	"flashsale/handlers/web"
	"flashsale/internal/config"
)

// newPage returns the page of a worker, nil where it is off.
func newPage(cfg *config.Config) (*web.Site, error) {
	if !cfg.Page() {
		return nil, nil
	}
	return web.New()
}
