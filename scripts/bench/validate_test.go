//go:build validate

package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/scripts/bench/audit"
)

// describe has the shop serve the server's description of the API.
func (s *shop) describe(t *testing.T) (address string) {
	text := testkit.ReadFile(t, "../../handlers/openapi.json")
	routes := s.routes().(*http.ServeMux)
	routes.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	})
	return serve(t, routes)
}

// Every reply of an honest shop is as described. The 503 of another one has no Retry-After. Nor does a
// load pass when no reply of it was compared.
func TestValidate(t *testing.T) {
	examined := func(checks []audit.Check) int {
		i := slices.IndexFunc(checks, func(c audit.Check) bool { return c.Name == audit.Described })
		return checks[i].Examined
	}
	address := newShop(builtIn(t, 10, 1000), honest).describe(t)
	rep, stderr, code := bench(t, []string{address}, 10, 1000, "-validate", "1")
	all := examined(rep.Audit)
	if code != 0 || all < 5*100 {
		t.Errorf("exit %d: %s, %d replies looked at, %+v", code, stderr, all, rep.Audit)
	}
	address = newShop(builtIn(t, 10, 1000), honest).describe(t)
	rep, _, code = bench(t, []string{address}, 10, 1000, "-validate", "10")
	if code != 0 || examined(rep.Audit) != all/10 {
		t.Errorf("exit %d, %d replies of %d looked at", code, examined(rep.Audit), all)
	}
	address = newShop(builtIn(t, 10, 1000), honest).describe(t)
	rep, stderr, code = bench(t, []string{address}, 10, 1000, "-validate", "1000000")
	if code != exitAudit || examined(rep.Audit) != 0 ||
		!slices.Equal(failed(rep.Audit), []string{audit.Described}) {
		t.Errorf("nothing was compared: exit %d: %s, %+v", code, stderr, rep.Audit)
	}
	address = newShop(builtIn(t, 10, 1000), failsOrder).describe(t)
	rep, _, code = bench(t, []string{address}, 10, 1000, "-validate", "1")
	if code != exitAudit || !slices.Equal(failed(rep.Audit), []string{audit.Described}) {
		t.Errorf("exit %d, failed %q", code, failed(rep.Audit))
	}
}

func TestValidateUsage(t *testing.T) {
	address := newShop(builtIn(t, 10, 1000), honest).open(t)
	for flag, want := range map[string]string{
		"-validate=1":  "-validate needs /openapi.json, and " + address + " answers it 404",
		"-validate=-1": "-validate -1 is negative",
	} {
		if _, stderr, code := bench(t, []string{address}, 10, 1000, flag); code != exitUsage ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, stderr %q", flag, code, stderr)
		}
	}
}
