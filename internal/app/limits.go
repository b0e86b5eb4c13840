package app

import (
	"flashsale/handlers"
	"flashsale/internal/config"
	"flashsale/internal/rooms/limits"
)

var limitsRoom = room{
	name:   "limits",
	read:   func(cfg *config.Config) (any, error) { return readLimits(cfg) },
	again:  func(cfg *config.Config) bool { return cfg.LimitsFile() != "" },
	readAs: "limits",
	serve:  (*worker).serveLimits,
}

// limitRules are the rules of the rate limits.
type limitRules struct {
	Rules []limits.Rule
	Off   bool
}

func readLimits(cfg *config.Config) (r limitRules, err error) {
	r.Rules, r.Off, err = cfg.LimitRules()
	return r, err
}

func (w *worker) serveLimits() (part, error) {
	var rules limitRules
	if err := w.take("limits", &rules); err != nil {
		return part{}, err
	}
	if rules.Off && w.cfg.LimitsFile() == "" { // SIGHUP may read a file that switches the room on
		return part{}, nil
	}
	limiter := limits.New(limits.Config{Redis: w.Redis.Room(limits.HashTag), Rules: rules.Rules,
		Secret: w.Secrets[0], Users: w.catalog.Users(), UserOf: w.catalog.UserOf, AdminFrom: w.cfg.AdminFrom})
	return part{run: limiter.Run, routes: handlers.Limits(limiter), retired: func() { w.followRules(limiter) }},
		nil
}

// followRules reads the rules again in a worker that was replaced: it answers the last requests of its
// connections by the rules of the new worker. After an error both keep the old rules; the supervisor has
// logged the error.
func (w *worker) followRules(limiter *limits.Limiter) {
	if w.cfg.LimitsFile() == "" {
		return
	}
	if rules, err := readLimits(w.cfg); err == nil {
		limiter.Use(rules.Rules)
	}
}
