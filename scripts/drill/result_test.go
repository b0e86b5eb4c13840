package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/scripts/bench/audit"
)

func named(name string, r result) result {
	r.drill, r.seed = drill{name: name}, 7
	return r
}

func TestTable(t *testing.T) {
	results := []result{
		named("calm", result{orders: 12, unknown: 1, slowest: 1200 * time.Millisecond,
			resumed: 30 * time.Millisecond, memory: 25 << 10, goroutines: 80}),
		named("cut", result{orders: 5, lost: 2, mayLose: 3}),
		named("broken", result{orders: 9, failures: []string{"sold twice"}}),
		named("absent", result{impossible: "cannot be done on this machine: no clock"}),
	}
	var out strings.Builder
	printTable(&out, results, 3*time.Second)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"seed orders unknown lost slowest answer resumed after worker MB goroutines verdict drill",
		"7 12 1 0 1.20 s 0.03 s 25 80 ok calm",
		"7 5 0 2 of 3 cut 0.00 s 0.00 s 0 0 ok cut",
		"7 9 0 0 0.00 s 0.00 s 0 0 FAILED broken",
		"7 0 0 0 0.00 s 0.00 s 0 0 not done absent",
		"",
		"2 of 4 drills passed in 3s; not done: absent (cannot be done on this machine: no clock)",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	if err := verdict(results, 4); !errors.Is(err, errFailed) || !strings.HasSuffix(err.Error(), ": broken") {
		t.Errorf("verdict %v", err)
	}
}

func TestVerdict(t *testing.T) {
	calm, absent := named("calm", result{}), named("absent", result{impossible: "why"})
	if err := verdict([]result{calm, absent}, 2); err != nil {
		t.Errorf("a drill that cannot be done fails the run: %v", err)
	}
	if err := verdict([]result{calm}, 2); !errors.Is(err, errFailed) {
		t.Errorf("an interrupted run passes: %v", err)
	}
}

// audited is the result of a drill that lost a number of acknowledged orders.
func audited(lost, mayLose int, name string) *result {
	r := &result{mayLose: mayLose}
	rep := &benchReport{}
	rep.Audit = append(rep.Audit, struct {
		Name       string
		Violations int
		Examples   []string
	}{name, lost, nil})
	r.judgeAudit(rep)
	return r
}

func TestJudgeAudit(t *testing.T) {
	for _, test := range []struct {
		lost, mayLose int
		name          string
		failures      int
	}{
		{0, 0, audit.Acknowledged, 0},
		{1, 0, audit.Acknowledged, 1},
		{3, 3, audit.Acknowledged, 0},
		{4, 3, audit.Acknowledged, 1},
		{0, 0, "another name", 1},
		{1, 3, "no food is sold over its stock", 2}, // nothing that was destroyed excuses it
		{1, 0, audit.Unexpected, 2},
	} {
		if r := audited(test.lost, test.mayLose, test.name); len(r.failures) != test.failures {
			t.Errorf("%+v: %q", test, r.failures)
		}
	}
}

// Where nothing is broken, no answer may be a 5xx.
func TestJudgeHealth(t *testing.T) {
	for _, test := range []struct {
		refused  int
		name     string
		failures int
	}{
		{0, "FOOD_OUT_OF_STOCK", 0}, {1, "FOOD_OUT_OF_STOCK", 1}, {0, "SERVICE_UNAVAILABLE", 1},
		{0, "INTERNAL_ERROR", 1}, {0, "HTTP 502", 1}, {0, "HTTP 404", 0},
	} {
		r, rep := &result{}, &benchReport{}
		rep.Load.Refusals = []eventCount{{"order", test.name, 1}}
		r.judgeHealth(&probes{list: []*probe{{refused: test.refused}}}, rep)
		if len(r.failures) != test.failures {
			t.Errorf("%+v: %q", test, r.failures)
		}
	}
}

// A fault that buyers may not notice may not show in any answer.
func TestJudgeNoticedFault(t *testing.T) {
	for noticed, want := range map[effects]bool{may503: false, must503: false, mayDrop: true} {
		s := &stack{probes: &probes{list: []*probe{{shopper: newShopper("a", 2), answered: 2, refused: 1}}}}
		r, rep := &result{}, &benchReport{}
		r.drill.noticed = noticed
		r.judge(s, rep, &watch{})
		if got := strings.Contains(strings.Join(r.failures, "; "), "answered 503"); got != want {
			t.Errorf("effects %b: %q", noticed, r.failures)
		}
	}
}

func TestJudge(t *testing.T) {
	calm := func() (*stack, *benchReport, *watch) {
		s := &stack{slack: 1, probes: &probes{list: []*probe{{shopper: newShopper("a", 2), answered: 1}}}}
		rep := &benchReport{}
		rep.Audit = append(rep.Audit, struct {
			Name       string
			Violations int
			Examples   []string
		}{audit.Acknowledged, 0, nil})
		return s, rep, &watch{}
	}
	for _, test := range []struct {
		name  string
		spoil func(*stack, *benchReport, *watch)
		want  string
	}{
		{"calm", func(*stack, *benchReport, *watch) {}, ""},
		{"late answer", func(s *stack, _ *benchReport, _ *watch) { s.probes.list[0].slowest = answerMax + 1 },
			"an answer took"},
		{"late answer on a busy machine", func(s *stack, _ *benchReport, _ *watch) {
			s.slack, s.probes.list[0].slowest = 2, 2*answerMax
		}, ""},
		{"late service", func(s *stack, _ *benchReport, _ *watch) { s.resumed = resumeMax + 1 },
			"service was back"},
		{"lost connection", func(s *stack, _ *benchReport, _ *watch) { s.probes.list[0].dropped = 2 },
			"2 requests of the probe"},
		{"no probe", func(s *stack, _ *benchReport, _ *watch) { s.probes.list[0].answered = 0 },
			"made no request"},
		{"strange answer", func(s *stack, _ *benchReport,
			_ *watch) {
			s.probes.list[0].unexpected = []string{"500"}
		}, "500"},
		{"memory", func(_ *stack, _ *benchReport, w *watch) { w.memory = memoryMax + 1 }, "kB of memory"},
		{"goroutines", func(_ *stack, _ *benchReport, w *watch) { w.goroutines = goroutineMax(0) + 1 },
			"goroutines"},
	} {
		s, rep, w := calm()
		test.spoil(s, rep, w)
		r := &result{}
		r.judge(s, rep, w)
		if got := strings.Join(r.failures, "; "); (test.want == "") != (got == "") || !strings.Contains(got,
			test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
