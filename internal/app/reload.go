package app

import (
	"context"
	"log/slog"

	"flashsale/internal/serve/listener"
	"flashsale/redisx/turnover"
)

// A reload is something that SIGHUP reads again, into next, a copy of what the workers serve. After an error
// the old value stays. adopted, if it is not nil, is called once the workers serve next.
type reload struct {
	name string
	read func(ctx context.Context, next *opening) (adopted func(), err error)
}

// reloads returns what SIGHUP reads, in this order.
func (s *supervisor) reloads() []reload {
	list := []reload{{"catalogue", s.readCatalogue}}
	if s.cfg.TLSCert != "" {
		list = append(list, reload{"certificate", s.readCertificate})
	}
	for _, r := range rooms {
		if r.again != nil && r.again(s.cfg) {
			list = append(list, reload{r.readAs, func(_ context.Context, next *opening) (func(), error) {
				value, err := r.read(s.cfg)
				if err == nil && r.fits != nil {
					err = r.fits(next, value)
				}
				if err == nil {
					next.rooms[r.name] = value
				}
				return nil, err
			}})
		}
	}
	return list
}

// reload reads everything again after SIGHUP, then replaces the workers once. Until all workers are
// replaced, the old values hold everywhere. The last log line names what was read.
func (s *supervisor) reload(ctx context.Context) {
	next := s.serving().copy()
	var adopted []func()
	var taken []any
	for _, r := range s.reloads() {
		adopt, err := r.read(ctx, next)
		if err != nil {
			slog.Error("cannot read again; the old value stays", "what", r.name, "error", err)
		}
		if adopt != nil {
			adopted = append(adopted, adopt)
		}
		taken = append(taken, r.name+"_read", err == nil)
	}
	taken = append([]any{"users", next.catalog.Users()}, append(taken, "operator", terminal)...)
	if err := s.replaceWorkers(ctx, next); err != nil {
		slog.Error("cannot replace the workers; the old values stay", append(taken, "error", err)...)
		return
	}
	for _, p := range s.parts {
		if p.reloaded != nil {
			p.reloaded(next)
		}
	}
	for _, adopt := range adopted {
		adopt()
	}
	slog.Info("all workers are replaced", taken...)
}

// replaceWorkers starts new workers that serve next. The old files are closed only after a success: a
// worker that was not replaced may restart with them.
func (s *supervisor) replaceWorkers(ctx context.Context, next *opening) error {
	packed, err := next.pack()
	if err != nil {
		return err
	}
	if err := s.processes.Roll(ctx, packed); err != nil {
		s.handedOver = append(s.handedOver, ownFiles(packed)...)
		return err
	}
	for _, old := range s.handedOver {
		old.Close()
	}
	s.handedOver = ownFiles(packed)
	s.sale.Store(next)
	return nil
}

// readCatalogue reads the catalogue of the next sale if that is open, else the users of this sale.
func (s *supervisor) readCatalogue(ctx context.Context, next *opening) (adopted func(), err error) {
	before := s.serving()
	if found := s.waiting(ctx, before.Sale); found != nil {
		following, err := s.openNext(ctx, next, found)
		if err == nil {
			*next = *following
			return func() { s.followed(before) }, nil
		}
		s.logNotTaken(found, err)
	}
	fresh, err := next.catalog.Reload(ctx, next.source, s.cfg.ForceReload)
	if err == nil {
		err = makeImages(ctx, s.cfg, s.folder, fresh)
	}
	if err != nil {
		return nil, err
	}
	next.catalog = fresh
	next.warnOfCutOff()
	return func() {
		slog.Info("the users are read again", "users_before", before.catalog.Users(),
			"users_after", fresh.Users())
		next.tellUsers(ctx)
	}, nil
}

func (s *supervisor) readCertificate(_ context.Context, next *opening) (adopted func(), err error) {
	certificate, err := listener.ReadCertificate(s.cfg.TLSCert, s.cfg.TLSKey)
	if err == nil {
		next.Certificate = certificate
	}
	return nil, err
}

// tellUsers publishes the fingerprints of this server's users: a server that joins the sale later is
// compared with them.
func (o *opening) tellUsers(ctx context.Context) {
	this := firstStock(o.catalog)
	this.Only, this.Alone = o.Sale, o.alone
	var err error
	if this.Server, err = o.fingerprints(); err == nil {
		_, err = turnover.Open(ctx, o.Redis, this)
	}
	if err != nil {
		slog.Warn("servers that join the sale are still compared with the old users", "error", err)
	}
}
