package app

import (
	"context"
	"log/slog"

	"flashsale/internal/serve/listener"
	"flashsale/redisx/turnover"
)

// A reload is something that SIGHUP reads again. With an error the old value stays.
type reload struct {
	name string
	read func(context.Context) error
}

// reloads are read in this order; the workers are replaced afterwards.
func (s *supervisor) reloads() []reload {
	list := []reload{{"catalogue", s.readCatalogue}}
	if s.cfg.TLSCert != "" {
		list = append(list, reload{"certificate", s.readCertificate})
	}
	if s.cfg.LimitsFile() != "" {
		list = append(list, reload{"limits", s.readLimits})
	}
	if s.cfg.VKGroupsFile() != "" {
		list = append(list, reload{"vk_groups", s.readVKGroups})
	}
	return list
}

// reload reads everything again, as SIGHUP asks for, and replaces the workers. The last line names what
// was taken.
func (s *supervisor) reload(ctx context.Context) {
	if s.blocklist != nil {
		s.blocklist.Reload() // in the background: an import takes its time
	}
	s.followNow(ctx)
	var taken []any
	for _, r := range s.reloads() {
		err := r.read(ctx)
		if err != nil {
			slog.Error("cannot read again; the old value stays", "what", r.name, "error", err)
		}
		taken = append(taken, r.name+"_read", err == nil)
	}
	taken = append([]any{"users", s.sale.catalog.Users()}, taken...)
	if err := s.replaceWorkers(ctx); err != nil {
		slog.Error("cannot replace the workers; those that were not replaced go on",
			append(taken, "error", err)...)
		return
	}
	slog.Info("all workers are replaced", taken...)
}

// replaceWorkers hands everything over to new workers. A slot that was not replaced restarts with the
// catalogue it had, so the old files are closed only after a success.
func (s *supervisor) replaceWorkers(ctx context.Context) error {
	next, err := s.sale.pack()
	if err != nil {
		return err
	}
	if err := s.processes.Roll(ctx, next); err != nil {
		s.catalogs = append(s.catalogs, catalogFiles(next)...)
		return err
	}
	for _, old := range s.catalogs {
		old.Close()
	}
	s.catalogs = catalogFiles(next)
	return nil
}

func (s *supervisor) readCatalogue(ctx context.Context) error {
	o := s.sale
	before := o.catalog.Users()
	fresh, err := o.catalog.Reload(ctx, o.source, s.cfg.ForceReload)
	if err != nil {
		return err
	}
	o.catalog = fresh
	slog.Info("the users are read again", "users_before", before, "users_after", fresh.Users())
	o.warnOfCutOff()
	o.tellUsers(ctx)
	return nil
}

func (s *supervisor) readCertificate(context.Context) error {
	certificate, err := listener.ReadCertificate(s.cfg.TLSCert, s.cfg.TLSKey)
	if err == nil {
		s.sale.Certificate = certificate
		s.certificateEnd.Store(certificate.Expires().UnixNano())
	}
	return err
}

func (s *supervisor) readLimits(context.Context) error {
	rules, off, err := s.cfg.LimitRules()
	if err == nil {
		s.sale.Limits, s.sale.LimitsOff = rules, off
	}
	return err
}

// tellUsers publishes the users of this server: the next server that joins the sale is compared with them.
func (o *opening) tellUsers(ctx context.Context) {
	this := firstStock(o.catalog)
	this.Only, this.Alone = o.Sale, o.alone
	var err error
	if this.Server, err = o.fingerprints(); err == nil {
		_, err = turnover.Open(ctx, o.Redis, this)
	}
	if err != nil {
		slog.Warn("the sale's other servers are still compared with the users before", "error", err)
	}
}
