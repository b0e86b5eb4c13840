package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// helpText is the help of the server, which a test of the server holds to what the program writes.
func helpText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../internal/config/testdata/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// madeUp are the server and commands that differ in each way that matters.
func madeUp(t *testing.T) []command {
	t.Helper()
	server := parseHelp("", helpText(t))
	audit := server
	audit.name = "audit"
	return []command{server, audit,
		parseHelp("sale", "flashsale sale open|close changes the sale.\n"),
		parseHelp("sale open", "flashsale sale open opens it.\n\n"+
			"Flags\n  -at time  [AT]\n        its [time]: it's 12:00\n"),
		parseHelp("sale close", "flashsale sale close closes it.\n\nFlags\n  -now  [NOW]\n        at once\n"),
	}
}

// Nothing of the help is lost: what was parsed is the help again.
func TestParseHelp(t *testing.T) {
	var again strings.Builder
	c := parseHelp("", helpText(t))
	for _, line := range c.usage {
		again.WriteString(line + "\n")
	}
	for _, g := range c.groups {
		again.WriteString("\n" + g.title + "\n")
		for _, o := range g.flags {
			again.WriteString("  -" + strings.TrimRight(o.name+" "+o.value, " ") + "  [" + o.variable + "]\n")
			again.WriteString("        " + o.text + "\n")
		}
	}
	if again.String() != helpText(t) {
		t.Errorf("parsed and written again it is\n%s", again.String())
	}
}

func TestMentionedCommands(t *testing.T) {
	c := parseHelp("", "flashsale opens a sale.\nflashsale audit, with the same flags, compares.\n"+
		"flashsale status [-watch] shows.\nflashsale sale open|close does.\nflashsale -version prints.\n")
	want := []string{"opens", "opens a", "audit", "status", "sale", "sale open", "sale close"}
	if got := c.mentioned(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A program is asked for each command that its help mentions, and may refuse.
func TestReadHelp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	script := `#!/bin/sh
		case "$*" in
		-h) echo "flashsale opens a sale."; echo "flashsale sale open|close, see its help." ;;
		"sale -h") echo "flashsale sale open opens it." ;;
		"sale open -h") printf 'Opens.\n\nFlags\n  -at time  [AT]\n        time\n' ;;
		*) exit 1 ;;
		esac`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &release{stage: t.TempDir()}
	r.programs = map[string]*program{runtime.GOARCH: {path: path}}
	if err := r.readHelp(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range r.commands {
		names = append(names, c.name)
	}
	if want := []string{"", "sale", "sale open"}; !slices.Equal(names, want) {
		t.Fatalf("commands %q, want %q", names, want)
	}
	if flags := r.commands[2].options(); len(flags) != 1 || flags[0] != (option{"at", "time", "AT", "time"}) {
		t.Errorf("flags of sale open: %v", flags)
	}
}

func TestChoices(t *testing.T) {
	for value, want := range map[string][]string{
		"loop|goroutines": {"loop", "goroutines"}, "on or off": {"on", "off"},
		"file or URL": nil, "time": nil, "": nil,
	} {
		if got := (option{value: value}).choices(); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestPackageVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3~rc.1",
		"v0.0.0-20261122064912-1bf370a0c0de": "0.0.0~20261122064912.1bf370a0c0de",
	} {
		if got := packageVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestSourceTime(t *testing.T) {
	for _, test := range []struct {
		epoch, want string
		fails       bool
	}{
		{"", "2026-11-22T06:49:12Z", false}, {"86400", "1970-01-02T00:00:00Z", false},
		{"-1", "", true}, {"noon", "", true},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", test.epoch)
		at, err := sourceTime("2026-11-22T06:49:12Z")
		if (err != nil) != test.fails || err == nil && at.Format("2006-01-02T15:04:05Z07:00") != test.want {
			t.Errorf("%q: %v %v, want %s", test.epoch, at, err, test.want)
		}
	}
}
