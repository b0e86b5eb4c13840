package compare

import (
	"errors"
	"reflect"
	"testing"

	"flashsale/scripts/bench/sale"
)

func TestParseSide(t *testing.T) {
	for text, want := range map[string]Side{
		"floor": {program: "floor", flags: []string{}, nodes: 1, servers: 1},
		"CHAT=10 product": {talkers: 10, program: "product", flags: []string{}, store: storeOff, nodes: 1,
			servers: 1},
		"SERVERS=2 IDLE=3 GOGC=400 product -workers 1": {idle: 3, env: []string{"GOGC=400"}, program: "product",
			flags: []string{"-workers", "1"}, store: storeOff, nodes: 1, servers: 2},
		"STORE=always VIEWERS=5 A=b=c ./old/server -redis-connections=2 X=Y": {env: []string{"A=b=c"}, viewers: 5,
			program: "./old/server", flags: []string{"-redis-connections=2", "X=Y"}, store: storeAlways,
			nodes: 1, servers: 1},
		"REDIS=2 product": {program: "product", flags: []string{}, store: storeOff, nodes: 2, servers: 1},
		"CLUSTER=3 product": {program: "product", flags: []string{}, store: storeOff, nodes: 1, masters: 3,
			servers: 1},
		"CLUSTER=3 REPLICAS=1 product -ack replica": {program: "product", flags: []string{"-ack", "replica"},
			store: storeOff, nodes: 1, masters: 3, replicas: 1, servers: 1},
	} {
		want.text = text
		if got, err := ParseSide(" " + text + "  "); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
	}
	const different = "REDIS, STORE=own, and CLUSTER with REPLICAS are for different sides"
	const nothing = "it names no program; that is floor, product or the path of a server"
	for side, want := range map[string]string{
		"":                             nothing,
		"A=1":                          nothing,
		"-workers 1":                   nothing,
		"STORE=disk product":           "STORE is one of [off always own]",
		"SERVERS=0 product":            "SERVERS is a number from 1 on",
		"VIEWERS=x floor":              "VIEWERS is a number from 1 on",
		"CHAT=1 floor":                 "CHAT needs a server",
		"IDLE=1 VIEWERS=1 product":     "IDLE and VIEWERS are for two sides",
		"REDIS=2 CLUSTER=3 product":    different,
		"REDIS=2 REPLICAS=1 product":   different,
		"STORE=own REPLICAS=1 product": different,
		"STORE=own CLUSTER=3 product":  different,
		"STORE=own SERVERS=2 product":  "servers of STORE=own share no Redis",
	} {
		want = `bad usage: compare side "` + side + `": ` + want
		if _, err := ParseSide(side); !errors.Is(err, sale.ErrUsage) || err.Error() != want {
			t.Errorf("%s: %v", side, err)
		}
	}
}
