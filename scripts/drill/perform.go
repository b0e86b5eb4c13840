package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"flashsale/internal/background"
	"flashsale/scripts/bench/audit"
)

const (
	turnMax   = 15 * time.Minute      // for a drill that hangs; the longest one takes two thirds
	heldTime  = 20 * time.Millisecond // more for each held order
	startMax  = time.Minute           // for a start that hangs; a start takes a tenth of a second
	stopMax   = time.Minute
	logShown  = 2000        // bytes of the end of each log of a failed drill
	beforeMax = time.Second // the fault begins at a random moment within this time after the first sales
)

// perform makes one turn on a stack of its own.
func perform(ctx context.Context, t turn, p *prometheus, opt *options) (r result) {
	r = result{turn: t}
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, t.drill.setup.turnMax(opt.holds))
	defer cancel()
	setup := t.drill.setup
	setup.buyers = cmp.Or(setup.buyers, buyersDefault)
	setup.stock = cmp.Or(setup.stock, stockDefault)
	// the short form does not judge times, nor their effects
	setup.patient = (setup.patient || t.drill.healthy()) && !opt.long
	alarms := &alarms{prometheus: p, servers: setup.servers, expected: t.drill.alert}
	s, err := startStack(ctx, setup, alarms, opt)
	if err == nil {
		err = s.conduct(ctx, &r)
	}
	s.stop()
	switch {
	case errors.Is(err, errImpossible), errors.Is(err, errUnreleased):
		r.impossible = err.Error()
	case err != nil:
		r.fail("%v", err)
	}
	r.notes = append(r.notes, s.notes...)
	r.failures = append(r.failures, s.broken...)
	if len(r.failures) > 0 {
		r.logs = s.logs()
	}
	if s.folder != "" {
		os.RemoveAll(s.folder)
	}
	return r
}

// conduct runs a drill from the first order to the audit.
func (s *stack) conduct(ctx context.Context, r *result) (err error) {
	dice := r.dice()
	giveUp := answerPatient
	if r.drill.noticed.may(mayHang) {
		giveUp = time.Second
	}
	if s.load, err = startLoad(ctx, s, r.seed, giveUp); err != nil {
		return err
	}
	if s.talk, err = startTalk(ctx, s); err != nil {
		return err
	}
	watch := startWatch(ctx, s.servers, s.setup.buyers)
	defer watch.stop()
	if err := s.awaitSales(ctx, piecesFirst); err != nil {
		return err
	}
	if err := s.alarms.awaitCalm(ctx); err != nil {
		return err
	}
	if !r.drill.healthy() {
		background.Pause(ctx, moment(dice, beforeMax))
	}

	refusals := s.probes.refusals()
	s.alarms.begin()
	if err := r.drill.run(ctx, s, dice); err != nil {
		return err
	}
	if r.drill.noticed.may(must503) && s.probes.refusals() == refusals {
		return errors.New("no request was refused: the fault was not there, and the drill proves nothing")
	}
	if err := s.measureResumption(ctx); err != nil {
		return err
	}
	if err := s.awaitSales(ctx, piecesAfter); err != nil {
		return err
	}
	s.awaitAlert(ctx)
	if r.drill.healthy() {
		s.demandNoAlert(ctx)
	}
	if err := s.talk.finish(ctx, r); err != nil {
		return err
	}
	rep, err := s.load.finish(ctx)
	if err != nil {
		return err
	}
	if err := s.books.audit(ctx, s); err != nil {
		return err
	}
	s.awaitNoAlert(ctx)
	s.probes.stop()
	watch.stop()
	r.judge(s, rep, watch)
	return nil
}

// turnMax is how long a turn may take, with this number of held orders.
func (c setup) turnMax(holds int) time.Duration {
	if !c.hold {
		return turnMax
	}
	return turnMax + time.Duration(holds)*heldTime
}

// moment is a random time up to most.
func moment(dice *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(dice.Int64N(int64(most)))
}

// judge compares the result with the promises.
func (r *result) judge(s *stack, rep *benchReport, watch *watch) {
	r.resumed, r.mayLose, r.own = s.resumed, s.mayLose, s.own
	r.memory, r.goroutines = watch.memory, watch.goroutines
	r.judgeLoad(s, rep)
	r.judgeProbes(s.probes)
	if limit := answerMax * s.slack; r.slowest > limit {
		r.fail("an answer took %v, the most is %v", r.slowest, limit)
	}
	if limit := s.setup.resumeMax() * s.slack; r.resumed > limit {
		r.fail("service was back %v after the fault, the most is %v", r.resumed, limit)
	}
	r.failures = append(r.failures, watch.excess()...)
}

// judgeLoad judges the report of bench.
func (r *result) judgeLoad(s *stack, rep *benchReport) {
	r.orders, r.unknown = rep.Load.Placed, rep.Load.Unknown
	r.judgeAudit(rep)
	if !r.drill.noticed.may(mayHang) {
		for _, step := range rep.Load.Latency {
			if step.Step != "flow" { // the flow counts from the intended start, through all steps
				r.slowest = max(r.slowest, time.Duration(step.Max)*time.Microsecond)
			}
		}
	}
	if !r.drill.noticed.may(mayDrop) {
		for _, fault := range rep.Load.Faults {
			r.fail("bench lost the connection (%s, at %s) %d times", fault.Name, fault.Step, fault.Count)
		}
	}
	if !r.drill.noticed.may(may503 | must503) {
		r.judgeHealth(s.probes, rep)
	}
}

// judgeHealth allows no 5xx: no fault is under way, or buyers may not notice it.
func (r *result) judgeHealth(p *probes, rep *benchReport) {
	for _, one := range p.list {
		if one.refused > 0 {
			r.fail("%d of %d requests of a probe were answered 503", one.refused, one.answered)
		}
	}
	for _, refusal := range rep.Load.Refusals {
		if refusal.Name == "SERVICE_UNAVAILABLE" || refusal.Name == "INTERNAL_ERROR" ||
			strings.HasPrefix(refusal.Name, "HTTP 5") {
			r.fail("bench was answered %s (at %s) %d times", refusal.Name, refusal.Step, refusal.Count)
		}
	}
}

// judgeAudit passes on the violations, except for orders that the drill itself destroyed.
func (r *result) judgeAudit(rep *benchReport) {
	known := false
	for _, check := range rep.Audit {
		allowed := 0
		if check.Name == audit.Acknowledged {
			known, r.lost, allowed = true, r.lost+check.Violations, r.mayLose
		}
		if check.Name == audit.Unexpected {
			allowed = r.own
		}
		if check.Violations > allowed {
			r.fail("%s: %d violations, such as %q", check.Name, check.Violations, check.Examples)
		}
	}
	if !known {
		r.fail("the audit of bench made no check %q", audit.Acknowledged)
	}
}

func (r *result) judgeProbes(p *probes) {
	for _, one := range p.list {
		r.slowest = max(r.slowest, one.slowest)
		for _, unexpected := range one.unexpected {
			r.fail("%s", unexpected)
		}
		if one.dropped > 0 && !r.drill.noticed.may(mayDrop) {
			r.fail("%d requests of the probe were not answered", one.dropped)
		}
		if one.answered == 0 {
			r.fail("the probe of %s made no request", one.shopper.Address)
		}
	}
}
