package app

import (
	"flashsale/handlers"
	"flashsale/handlers/web"
	"flashsale/internal/config"
	"flashsale/internal/rooms/images"
)

var pageRoom = room{
	name:   "page",
	read:   readLogo,
	again:  func(cfg *config.Config) bool { return cfg.Page() && cfg.ShopLogo != "" },
	readAs: "logo",
	serve:  (*worker).servePage,
}

// readLogo reads the logo of the shop, nil without one.
func readLogo(cfg *config.Config) (any, error) {
	if !cfg.Page() || cfg.ShopLogo == "" {
		return nil, nil
	}
	return images.ReadLogo(cfg.ShopLogo)
}

func (w *worker) servePage() (part, error) {
	if !w.cfg.Page() {
		return part{}, nil
	}
	var found operatorList
	if err := w.take(operatorsRoom.name, &found); err != nil {
		return part{}, err
	}
	var logo *images.Logo
	if err := w.take("page", &logo); err != nil {
		return part{}, err
	}
	var has []string
	for name, on := range map[string]bool{web.Chat: w.cfg.Chat, web.Operators: found.Source != "",
		web.Root: !w.cfg.RootOff, web.Provider + "=" + w.cfg.OIDCProvider(): w.cfg.OIDCIssuer != "",
		web.Rules: w.cfg.Rules != ""} {
		if on {
			has = append(has, name)
		}
	}
	brand := web.Brand{Name: w.cfg.ShopName, Logo: (*web.Logo)(logo)}
	site, err := web.New(handlers.Catalogue(w.catalog), brand, has...)
	if err != nil {
		return part{}, err
	}
	return part{routes: handlers.Page(site, w.pushPlace())}, nil
}
