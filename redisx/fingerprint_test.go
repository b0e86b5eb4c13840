package redisx

import (
	"errors"
	"fmt"
	"testing"
)

// prints are the fingerprints of a server with these secrets, each one letter, the one that signs first.
func prints(secrets, rootPassword, users string) (list []Fingerprint) {
	for _, s := range secrets {
		list = append(list, Fingerprint{
			Secret: fmt.Sprintf("%016x", s),
			Root:   fmt.Sprintf("%015x%x", rootPassword, s%16),
			Users:  fmt.Sprintf("%015x%x", users, s%16),
		})
	}
	return list
}

// Servers join a sale one after another, each as it is configured at that moment; a refused one changes
// nothing.
func TestServersThatDisagree(t *testing.T) {
	type server struct {
		secrets, root, users string
		want                 Differences
		refused              bool
	}
	for name, servers := range map[string][]server{
		"agreed": {{secrets: "A"}, {secrets: "A"}, {secrets: "A"}},
		"other secret": {{secrets: "A"}, {secrets: "B", refused: true}, {secrets: "B", refused: true},
			{secrets: "A"}},
		"both others": {{secrets: "AB"}, {secrets: "CD", refused: true}, {secrets: "BA"}},
		"root": {{secrets: "A", root: "1"}, {secrets: "A", root: "2",
			want: Differences{Root: true}}, {secrets: "A", root: "2"}},
		"users": {{secrets: "A", users: "1"}, {secrets: "A", users: "2",
			want: Differences{Users: true}}, {secrets: "A", users: "2"}},
		"root and users": {{secrets: "A"}, {secrets: "A", root: "2", users: "2",
			want: Differences{Root: true, Users: true}}},
		// All restarted twice, as the README has it, and a third time without the old secret.
		"rotation": {{secrets: "A"}, {secrets: "A"}, {secrets: "A"},
			{secrets: "AB"}, {secrets: "AB"}, {secrets: "AB"},
			{secrets: "BA"}, {secrets: "BA"}, {secrets: "BA"},
			{secrets: "B"}, {secrets: "B"}, {secrets: "B"}, {secrets: "A", refused: true}},
		// One crashes in between and comes back as it was.
		"crash in rotation": {{secrets: "A"}, {secrets: "AB"}, {secrets: "A"}, {secrets: "AB"},
			{secrets: "BA"}, {secrets: "AB"}, {secrets: "BA"}},
		"root in rotation": {{secrets: "AB", root: "1"}, {secrets: "BA", root: "2",
			want: Differences{Root: true}}, {secrets: "B", root: "2"}},
		// The new secret signs before the others accept it.
		"once only":   {{secrets: "A"}, {secrets: "BA", want: Differences{TheyRefuse: true}}},
		"old dropped": {{secrets: "AB"}, {secrets: "B", want: Differences{WeRefuse: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, cfg Config) {
				for i, s := range servers {
					opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint,
						Stock: []int64{1}, Server: prints(s.secrets, s.root, s.users)})
					refused := errors.Is(err, ErrOtherSecrets)
					if refused != s.refused || err != nil && !refused {
						t.Fatalf("server %d: %v, want refused %v", i, err, s.refused)
					}
					if opened.Differs != s.want || err == nil && opened.Fresh != (i == 0) {
						t.Errorf("server %d: %+v, want %+v", i, opened, s.want)
					}
				}
			})
		})
	}
}

// A server that is alone replaces what stands there; one of other foods, or without fingerprints, leaves it
// as it is.
func TestFingerprintsAreReplaced(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		stands := func() string { return rawString(t, cfg, "HGET", MarkerKey, "server") }
		o := Opening{Catalog: catalogPrint, Stock: []int64{1}, Server: prints("A", "1", "1")}
		first, err := Open(t.Context(), cfg, o)
		if err != nil || stands() != encodeFingerprints(o.Server) {
			t.Fatalf("%v; the marker has %q", err, stands())
		}
		other := o
		other.Catalog, other.Server = "3 foods", prints("A", "2", "2")
		if _, err := Open(t.Context(), cfg, other); !errors.Is(err, ErrOtherFoods) ||
			stands() != encodeFingerprints(o.Server) {
			t.Errorf("other foods: %v; the marker has %q", err, stands())
		}
		if id, err := Find(t.Context(), cfg, catalogPrint, ""); err != nil || id != first.Sale ||
			stands() != encodeFingerprints(o.Server) {
			t.Errorf("found %s, %v; the marker has %q", id, err, stands())
		}
		o.Only, o.Alone, o.Server = first.Sale, true, prints("B", "2", "2")
		alone, err := Open(t.Context(), cfg, o)
		if want := (Differences{TheyRefuse: true, WeRefuse: true}); err != nil ||
			alone.Differs != want || stands() != encodeFingerprints(o.Server) {
			t.Errorf("alone: %+v, %v; the marker has %q", alone, err, stands())
		}
	})
}

// A sale without fingerprints, as after its marker was put back by hand, is joined as it is.
func TestSaleWithoutFingerprints(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		open(t, cfg, 1)
		for range 2 {
			this := prints("A", "1", "1")
			opened, err := Open(t.Context(), cfg, Opening{Catalog: catalogPrint, Server: this})
			if err != nil || opened.Differs != (Differences{}) {
				t.Errorf("joined: %+v, %v", opened, err)
			}
		}
	})
}

func TestOpenOnly(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		o := Opening{Catalog: catalogPrint, Stock: []int64{1}, Only: "aaaaaaaa"}
		if _, err := Open(t.Context(), cfg, o); !errors.Is(err, ErrNoSale) {
			t.Errorf("no sale: %v, want ErrNoSale", err)
		}
		if n := rawString(t, cfg, "DBSIZE"); n != "0" {
			t.Errorf("%s keys were put into Redis", n)
		}
		id := open(t, cfg, 1).ID()
		_, err := Open(t.Context(), cfg, o)
		want := "redis holds another sale: " + id + " at " + cfg.Address
		if !errors.Is(err, ErrOtherSale) || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
		if _, err := Find(t.Context(), cfg, catalogPrint, o.Only); !errors.Is(err, ErrOtherSale) {
			t.Errorf("found: %v, want ErrOtherSale", err)
		}
		o.Only = id
		if opened, err := Open(t.Context(), cfg, o); err != nil || opened.Sale != id || opened.Fresh {
			t.Errorf("joined %+v, %v", opened, err)
		}
	})
}
