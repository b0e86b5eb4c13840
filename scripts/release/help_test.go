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
			"Flags of open\n  -at time\n        its [time]: it's 12:00\n\n"+
			"Flags of the server are taken too (flashsale -h): -data.\n"),
		parseHelp("sale close", "flashsale sale close closes it.\n\nFlags\n  -now  [NOW]\n        at once\n"+
			"  -format csv|jsonl\n        how\n"),
	}
}

// Nothing of the help is lost: what was parsed is the help again.
func TestParseHelp(t *testing.T) {
	for _, text := range []string{helpText(t), "Has no flags.\n", "Has flags.\n\nFlags of open\n  -at time\n" +
		"        now\n  -keep\n        it\n  -watch  [WATCH]\n        it\n\nMore\n  -a b c  [A]\n        it\n"} {
		if again := writtenAgain(parseHelp("", text)); again != text {
			t.Errorf("parsed and written again it is\n%s", again)
		}
	}
}

func writtenAgain(c command) string {
	var text strings.Builder
	for _, line := range c.usage {
		text.WriteString(line + "\n")
	}
	for _, g := range c.groups {
		text.WriteString("\n" + g.title + "\n")
		for _, o := range g.flags {
			line := strings.TrimRight("  -"+o.name+" "+o.value, " ")
			if o.variable != "" {
				line += "  [" + o.variable + "]"
			}
			text.WriteString(line + "\n        " + o.text + "\n")
		}
	}
	return text.String()
}

func TestBeyond(t *testing.T) {
	commands := madeUp(t)
	for _, test := range []struct {
		c      command
		own    string
		served bool
	}{
		{commands[0], "", true}, {commands[1], "", true}, {commands[2], "", false},
		{commands[3], "Flags of open", true}, {commands[4], "Flags", false},
	} {
		var titles []string
		own, served := test.c.beyond(commands[0])
		for _, g := range own {
			titles = append(titles, g.title)
		}
		if strings.Join(titles, ",") != test.own || served != test.served {
			t.Errorf("%q: beside the server's it has %q, all of the server's %v", test.c.name, titles, served)
		}
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
	want := option{"at", "time", "AT", "time"}
	if flags := options(r.commands[2].groups); len(flags) != 1 || flags[0] != want {
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
