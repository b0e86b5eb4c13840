package app

import (
	"flashsale/handlers"
	"flashsale/handlers/web"
)

var pageRoom = room{name: "page", serve: (*worker).servePage}

func (w *worker) servePage() (part, error) {
	if !w.cfg.Page() {
		return part{}, nil
	}
	site, err := web.New(w.cfg.Chat, handlers.Catalogue(w.catalog))
	if err != nil {
		return part{}, err
	}
	return part{routes: handlers.Page(site, w.pushPlace())}, nil
}
