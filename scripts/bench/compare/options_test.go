package compare

import (
	"flag"
	"reflect"
	"testing"
)

func TestForeignSideIsTheLast(t *testing.T) {
	var opt Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	opt.Register(fs)
	if err := fs.Parse([]string{"-vs-url", "a:1,b:2", "-vs-pids", "7,8"}); err != nil {
		t.Fatal(err)
	}
	if err := opt.Resolve("floor", nil); err != nil {
		t.Fatal(err)
	}
	want := Side{text: "server at a:1,b:2", servers: []string{"a:1", "b:2"}, pids: []int{7, 8}}
	if len(opt.Sides) != 2 || !reflect.DeepEqual(opt.Sides[1], want) {
		t.Errorf("sides = %+v", opt.Sides)
	}
}
