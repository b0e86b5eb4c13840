package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// loadHistory is bench with -history, and the verdict of bench check on what it wrote.
func loadHistory(t *testing.T, addresses []string, foods, stock int) (verdict string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history")
	_, stderr, loaded := bench(t, addresses, foods, stock, "-history", file)
	if loaded != 0 && loaded != exitAudit { // the audit finds most bugs too
		t.Fatalf("exit %d: %s", loaded, stderr)
	}
	return check(t, file)
}

func check(t *testing.T, file string) (verdict string, code int) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = exitCode(run([]string{"check", file}, &stdout, &stderr), &stderr)
	return stdout.String() + stderr.String(), code
}

// What only a history shows is in these bugs as well as what the audit finds.
func TestCheckFindsBugs(t *testing.T) {
	bugs := map[string]struct {
		lie   lie
		stock int
		want  string // in the shortest bad part; "" = linearizable
	}{
		"none":                             {honest, 1000, ""},
		"none, sold out":                   {honest, 10, ""},
		"none, 503 for an order":           {failsOrder, 1000, ""},
		"none, no answer to an order":      {hangsUp, 1000, ""},
		"stock is not checked":             {sellsTwice, 3, "order map["},
		"one-order check is left out":      {sellsAgain, 1000, "-> done order-"},
		"retry without the key":            {forgetsKey, 1000, "-> ORDER_OUT_OF_LIMIT"},
		"stale read of an own order":       {readsStale, 1000, "read -> done\n"},
		"lost transfer":                    {losesPiece, 1000, "stock food 1 "},
		"doubled transfer":                 {doublesPiece, 1000, "stock food 1 "},
		"another's cart is sold":           {sellsAnyCart, 1000, " of user "},
		"pieces of another's cart":         {mixesCarts, 1000, "read map["},
		"order missing after a fail-over":  {forgetsLast, 1000, "read -> done\n"},
		"acknowledged order was not kept":  {losesOrder, 1000, "read -> done\n"},
		"refused order was kept all along": {hidesOrder, 1000, "-> ORDER_OUT_OF_LIMIT"},
	}
	for name, bug := range bugs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(builtIn(t, 10, bug.stock), bug.lie)
			verdict, code := loadHistory(t, []string{s.open(t)}, 10, bug.stock)
			if linearizable := bug.want == ""; (code == 0) != linearizable || !linearizable && code != exitAudit ||
				!strings.Contains(verdict, bug.want) {
				t.Errorf("exit %d, want %q in:\n%s", code, bug.want, verdict)
			}
		})
	}
}
