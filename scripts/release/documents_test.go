package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// need finds a program on PATH. Without it the test is skipped; with REQUIRE_REAL=1 it fails.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("REQUIRE_REAL") == "1" {
		t.Fatalf("REQUIRE_REAL=1, but there is no %s on PATH: install it", program)
	} else if err != nil {
		t.Skipf("no %s on PATH: install it to run this test", program)
	}
	return path
}

// output runs a program, which must succeed and write nothing to standard error.
func output(t *testing.T, stdin []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(need(t, name), args...)
	var faults bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &faults
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=100", "MAN_KEEP_FORMATTING=")
	out, err := cmd.Output()
	if err != nil || faults.Len() > 0 {
		t.Fatalf("%s %q: %v\n%s", name, args, err, faults.Bytes())
	}
	return string(out)
}

// tried runs a program, which may fail, and returns all that it writes.
func tried(t *testing.T, name string, args ...string) (out string, ok bool) {
	t.Helper()
	text, err := exec.Command(name, args...).CombinedOutput()
	return string(text), err == nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

func written(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// man shows every word of the help.
func TestManual(t *testing.T) {
	commands := madeUp(t)
	page := written(t, "flashsale.1", manual(commands, "v1.2.3", time.Unix(0, 0).UTC()))
	shown := output(t, nil, "man", "--warnings", "--no-hyphenation", "--no-justification", "-l", page)
	text := strings.Join(strings.Fields(shown), " ")
	for _, c := range commands {
		for _, o := range options(c.groups) {
			head := "-" + o.name + " " + o.value
			if o.variable != "" {
				head += " [" + o.variable + "]"
			}
			head = strings.Join(strings.Fields(head), " ")
			if !strings.Contains(text, head) || !strings.Contains(text, strings.Join(strings.Fields(o.text), " ")) {
				t.Errorf("man does not show %q with %q", head, o.text)
			}
		}
		for _, line := range c.usage {
			if !strings.Contains(text, line) {
				t.Errorf("man does not show %q", line)
			}
		}
	}
	for _, part := range []string{"flashsale v1.2.3", "1970-01-01", "AUDIT It takes the flags of the server.",
		"SALE OPEN flashsale sale open opens it. It takes the flags of the server. Flags of open"} {
		if !strings.Contains(text, part) {
			t.Errorf("man does not show %q", part)
		}
	}
}

// The file of settings has every flag of the server, in a comment with its default.
func TestSettings(t *testing.T) {
	server := parseHelp("", helpText(t))
	lines := strings.Split(string(settings(server.groups)), "\n")
	for _, o := range options(server.groups) {
		is := func(line string) bool { return strings.HasPrefix(line, "#"+o.variable+"=") }
		want := 1
		if o.variable == "DATA" { // the unit has it
			want = 0
		}
		if n := len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !is(l) })); n != want {
			t.Errorf("%s is there %d times, want %d", o.variable, n, want)
		}
	}
	for _, want := range []string{"#APP_HOST=127.0.0.1", "#APP_PORT=8080", "#TOKEN_SECRET=",
		"#REQUIRE_DURABLE=false", "#DB_USER=root",
		"#LIMITS=login_failed by user 5/m 10/d; login_failed by ip 60/m; message by user 60/m; " +
			"message by ip 600/m"} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no line %q", want)
		}
	}
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, "#") {
			t.Errorf("set is %q, want nothing but defaults", line)
		}
	}
}

// completions by shell: what a script offers for a line, with the cursor at its end.
var completions = map[string]func(t *testing.T, script, line string) []string{
	"bash": func(t *testing.T, script, line string) []string {
		return strings.Fields(output(t, nil, "bash", "-c", `source "$0"
			COMP_WORDS=($1) COMP_LINE=$1; [[ $1 == *" " ]] && COMP_WORDS+=("")
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			compopt() { :; } # needs a shell with a user
			_flashsale; echo "${COMPREPLY[@]}"`, script, line))
	},
	"fish": func(t *testing.T, script, line string) (list []string) {
		out := output(t, nil, "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line)
		for found := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(found), "\t")
			list = append(list, word)
		}
		return list
	},
}

var completionTests = []struct{ line, has, hasNot string }{
	{"flashsale ", "sale", "open"},
	{"flashsale -app-", "-app-port", "-ops"},
	{"flashsale -traffic o", "off", "-ops"},
	{"flashsale audit -redis-", "-redis-host", "-ops"},
	{"flashsale sale ", "open", "audit"},
	{"flashsale sale open -", "-at", "-now"},
	{"flashsale sale open -", "-app-port", "-keep"},
	{"flashsale sale open -traffic ", "off", "-at"},
	{"flashsale sale close -", "-now", "-app-port"},
	{"flashsale sale close -format ", "jsonl", "-now"},
	{"flashsale sale close -n", "-now", "-at"},
}

func TestCompletion(t *testing.T) {
	for shell, complete := range completions {
		t.Run(shell, func(t *testing.T) {
			script := map[string][]byte{"bash": bashCompletion(madeUp(t)), "fish": fishCompletion(madeUp(t))}[shell]
			path := written(t, "flashsale."+shell, script)
			for _, test := range completionTests {
				got := complete(t, path, test.line)
				if !slices.Contains(got, test.has) || slices.Contains(got, test.hasNot) {
					t.Errorf("%q is completed with %q: want %s in it, %s not", test.line, got, test.has, test.hasNot)
				}
			}
		})
	}
}

// zsh completes in a terminal only, so a function stands for its _arguments and for compadd.
func TestCompletionOfZsh(t *testing.T) {
	script := written(t, "_flashsale", zshCompletion(madeUp(t)))
	out := output(t, nil, "zsh", "-f", "-c", `
		_arguments() { print -rl -- "$@" }
		compadd() { print -rl -- "$@" }
		words=(flashsale sale open ""); CURRENT=4
		source $0`, script)
	if want := "\n-at[its \\[time\\]\\: it's 12\\:00]:time: \n*: : \n"; !strings.HasSuffix(out, want) {
		t.Errorf("sale open: %q, want %q at its end", out, want)
	}
	if want := "-app-host[address"; !strings.HasPrefix(out, want) {
		t.Errorf("sale open: %q, want %q at its begin", out, want)
	}
	out = output(t, nil, "zsh", "-f", "-c", `
		_arguments() { print -rl -- "$@" }
		compadd() { print -rl -- "$@" }
		words=(flashsale ""); CURRENT=2
		source $0`, script)
	for _, want := range []string{"\nsale\n", "\naudit\n", ":on or off:(on off)\n",
		":folder:_files\n"} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains("\n"+out, "\nopen\n") {
		t.Error("open is offered without sale")
	}
}
