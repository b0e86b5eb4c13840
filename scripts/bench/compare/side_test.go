package compare

import (
	"errors"
	"reflect"
	"testing"

	"flashsale/scripts/bench/load"
	"flashsale/scripts/bench/sale"
)

func TestParseSides(t *testing.T) {
	got, err := parseSides(" floor |SERVERS=2 SLOW=7 VIEWERS=5 GOGC=400  product -workers 1|" +
		"STORE=always A=b=c " +
		"./old/server -redis-connections=2 X=Y | kernel -new-connections|" +
		"product --contest-bodies=false -workers 1 " +
		"-token-in-query")
	if err != nil {
		t.Fatal(err)
	}
	want := []Side{
		{text: "floor", program: "floor", count: 1},
		{text: "SERVERS=2 SLOW=7 VIEWERS=5 GOGC=400 product -workers 1", slow: 7, viewers: 5,
			env:     []string{"GOGC=400"},
			program: "product", flags: []string{"-workers", "1"}, store: storeOff, count: 2},
		{text: "STORE=always A=b=c ./old/server -redis-connections=2 X=Y", env: []string{"A=b=c"},
			program: "./old/server",
			flags:   []string{"-redis-connections=2", "X=Y"}, store: storeAlways, count: 1},
		{text: "kernel -new-connections", program: "kernel", style: []string{"-new-connections"}, count: 1},
		{text: "product --contest-bodies=false -workers 1 -token-in-query", program: "product",
			flags: []string{"-workers", "1"}, style: []string{"--contest-bodies=false", "-token-in-query"},
			store: storeOff, count: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseSidesRefuses(t *testing.T) {
	tests := map[string]string{
		"": `compare side "" names no program; it is kernel, floor, product or ` +
			`the path of a server`,
		"floor | A=1": `compare side "A=1" names no program; it is kernel, floor, product ` +
			`or the path of a server`,
		"-workers 1":    `compare side "-workers 1" names no program before -workers`,
		"floor|  floor": `compare names the side "floor" twice`,
		"STORE=disk product": `compare side "STORE=disk product": STORE is one of [off ` +
			`always everysec tcp own]`,
		"SERVERS=0 product": `compare side "SERVERS=0 product": SERVERS is a number ` +
			`from 1 to 16, of servers that share a Redis (not STORE=own)`,
		"SERVERS=x product": `compare side "SERVERS=x product": SERVERS is a number ` +
			`from 1 to 16, of servers that share a Redis (not STORE=own)`,
		"STORE=own SERVERS=2 product": `compare side "STORE=own SERVERS=2 product": SERVERS is a ` +
			`number from 1 to 16, of servers that share a Redis (not STORE=own)`,
		"VIEWERS=x floor": `compare side "VIEWERS=x floor": VIEWERS is a number of viewers from 1 to 100000`,
		"SLOW=-1 floor": `compare side "SLOW=-1 floor": SLOW is a number of slow ` +
			`connections from 1 to 20000`,
		"STORE=tcp floor":  `compare side "STORE=tcp floor": the floor has no store`,
		"STORE=own kernel": `compare side "STORE=own kernel": the kernel has no store`,
		"product -new-connections=often": `compare side "product -new-connections=often": invalid boolean ` +
			`value "often" for -new-connections: parse error`,
		"product -users 7": `compare side "product -users 7" sets users, which bench ` +
			`sets for all sides`,
		"product --app-port=7": `compare side "product --app-port=7" sets app-port, which ` +
			`bench sets for all sides`,
		"DB_HOST=x product": `compare side "DB_HOST=x product" sets db-host, which ` +
			`bench sets for all sides`,
		"1|2|3|4|5|6|7|8|9|a|b|c|d|e|f|g|h": "compare names 17 sides, at most 16",
	}
	for text, want := range tests {
		_, err := parseSides(text)
		if !errors.Is(err, sale.ErrUsage) || err.Error() != "bad usage: "+want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A side's own style stands above the comparison's, and what it does not name stays.
func TestStyleOfSide(t *testing.T) {
	sides, err := parseSides("product | product -new-connections | " +
		"product -contest-bodies=false -token-in-query")
	if err != nil {
		t.Fatal(err)
	}
	all := load.Options{Orders: 7, Style: load.Style{ContestBodies: true}}
	for i, want := range []load.Style{{ContestBodies: true}, {ContestBodies: true, NewConnections: true},
		{TokenInQuery: true}} {
		if got, err := sides[i].load(all); err != nil || got.Style != want || got.Orders != 7 {
			t.Errorf("%s: %+v, %v", sides[i].text, got, err)
		}
	}
}
