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
	var found operatorList
	if err := w.take(operatorsRoom.name, &found); err != nil {
		return part{}, err
	}
	var has []string
	for name, on := range map[string]bool{web.Chat: w.cfg.Chat, web.Operators: found.Source != "",
		web.Root: !w.cfg.RootOff, web.Provider + "=" + w.cfg.OIDCProvider(): w.cfg.OIDCIssuer != ""} {
		if on {
			has = append(has, name)
		}
	}
	site, err := web.New(handlers.Catalogue(w.catalog), has...)
	if err != nil {
		return part{}, err
	}
	return part{routes: handlers.Page(site, w.pushPlace())}, nil
}
