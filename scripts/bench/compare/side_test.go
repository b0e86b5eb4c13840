package compare

import (
	"errors"
	"reflect"
	"testing"

	"flashsale/scripts/bench/sale"
)

func TestParseSides(t *testing.T) {
	got, err := parseSides(" floor |SERVERS=2 SLOW=7 IDLE=3 VIEWERS=5 GOGC=400  product -workers 1|" +
		"STORE=always A=b=c ./old/server -redis-connections=2 X=Y")
	if err != nil {
		t.Fatal(err)
	}
	want := []Side{
		{text: "floor", program: "floor", flags: []string{}, servers: 1},
		{text: "SERVERS=2 SLOW=7 IDLE=3 VIEWERS=5 GOGC=400 product -workers 1", slow: 7, idle: 3, viewers: 5,
			env: []string{"GOGC=400"}, program: "product", flags: []string{"-workers", "1"}, store: storeOff,
			servers: 2},
		{text: "STORE=always A=b=c ./old/server -redis-connections=2 X=Y", env: []string{"A=b=c"},
			program: "./old/server", flags: []string{"-redis-connections=2", "X=Y"}, store: storeAlways,
			servers: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseSidesRefuses(t *testing.T) {
	const nothing = "it names no program; that is floor, product or the path of a server"
	for _, test := range []struct{ text, side, want string }{
		{"", "", nothing},
		{"floor | A=1", "A=1", nothing},
		{"-workers 1", "-workers 1", nothing},
		{"floor|  floor", "floor", "it is named twice"},
		{"STORE=disk product", "STORE=disk product", "STORE is one of [off always everysec tcp own]"},
		{"SERVERS=0 product", "SERVERS=0 product", "SERVERS is a number from 1 to 16"},
		{"SERVERS=x product", "SERVERS=x product", "SERVERS is a number from 1 to 16"},
		{"STORE=own SERVERS=2 product", "STORE=own SERVERS=2 product", "servers of STORE=own share no Redis"},
		{"VIEWERS=x floor", "VIEWERS=x floor", "VIEWERS is a number from 1 to 100000"},
		{"IDLE=100001 floor", "IDLE=100001 floor", "IDLE is a number from 1 to 100000"},
		{"SLOW=-1 floor", "SLOW=-1 floor", "SLOW is a number from 1 to 20000"},
		{"STORE=tcp floor", "STORE=tcp floor", "the floor has no store"},
		{"product -users 7", "product -users 7", "it sets users, which bench sets for all sides"},
		{"product --app-port=7", "product --app-port=7", "it sets app-port, which bench sets for all sides"},
		{"DB_HOST=x product", "DB_HOST=x product", "it sets db-host, which bench sets for all sides"},
	} {
		_, err := parseSides(test.text)
		want := `bad usage: compare side "` + test.side + `": ` + test.want
		if !errors.Is(err, sale.ErrUsage) || err.Error() != want {
			t.Errorf("%s: %v", test.text, err)
		}
	}
	_, err := parseSides("1|2|3|4|5|6|7|8|9|a|b|c|d|e|f|g|h")
	if want := "bad usage: compare names 17 sides, at most 16"; err == nil || err.Error() != want {
		t.Error(err)
	}
}
