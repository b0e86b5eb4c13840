package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
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

// programs is the folder of the program of the release.
var programs string

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

// checkDocuments looks at what was made from the help of the program.
func checkDocuments(t *testing.T, out string) {
	folder, name := t.TempDir(), "flashsale_0.999.0~rc.1_linux_"+runtime.GOARCH
	output(t, nil, "tar", "-xzf", filepath.Join(out, name+".tar.gz"), "-C", folder)
	programs = filepath.Join(folder, name)
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Run("manual", checkManual)
	t.Run("settings", checkSettings)
	for shell, complete := range completions {
		t.Run(shell, func(t *testing.T) {
			for _, test := range completionTests {
				got := complete(t, test.line)
				if !slices.Contains(got, test.has) || slices.Contains(got, test.hasNot) {
					t.Errorf("%q is completed with %q: want %s in it, %s not", test.line, got, test.has, test.hasNot)
				}
			}
		})
	}
}

// man shows every word of the help of every command.
func checkManual(t *testing.T) {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	text := words(output(t, nil, "man", "--warnings", "--no-hyphenation", "--no-justification", "-l",
		filepath.Join(programs, "flashsale.1")))
	for _, command := range []string{"", "account", "account list", "account reset", "audit", "status",
		"unlock", "sale", "sale open", "sale close", "sale new", "sale export"} {
		help := output(t, nil, "flashsale", append(strings.Fields(command), "-h")...)
		for line := range strings.Lines(help) {
			title := !strings.HasPrefix(line, " ")
			if !strings.Contains(text, words(line)) && !strings.HasPrefix(line, takesServers) &&
				!(title && strings.Contains(text, strings.ToUpper(words(line)))) {
				t.Errorf("man does not show %q of %q", line, command)
			}
		}
	}
	for _, part := range []string{"flashsale " + testVersion, "AUDIT It takes the flags of the server.",
		"FLASHSALE SALE EXPORT flashsale sale export [flags]"} {
		if !strings.Contains(text, part) {
			t.Errorf("man does not show %q", part)
		}
	}
}

// The file of settings has every flag of the server, in a comment with its default.
func checkSettings(t *testing.T) {
	text := string(read(t, filepath.Join(programs, "flashsale.conf")))
	help := output(t, nil, "flashsale", "-h")
	variables := regexp.MustCompile(`(?m)^  -.*\[(\w+)\]$`).FindAllStringSubmatch(help, -1)
	if len(variables) < 50 {
		t.Fatalf("the help has %d flags", len(variables))
	}
	for _, variable := range variables {
		want := 1
		if variable[1] == "DATA" { // the unit has it
			want = 0
		}
		if n := strings.Count(text, "\n#"+variable[1]+"="); n != want {
			t.Errorf("%s is there %d times, want %d", variable[1], n, want)
		}
	}
	for _, want := range []string{"#APP_HOST=127.0.0.1", "#APP_PORT=8080", "#TOKEN_SECRET=",
		"#REQUIRE_DURABLE=false", "#DB_USER=root",
		"#LIMITS=login_failed by user 5/m 10/d; login_failed by ip 60/m; message by user 60/m; " +
			"message by ip 600/m 50000/d; register by user 5/h; register by ip 60/h 300/d; invite by user 1000/h; " +
			"invite by ip 5000/h; chat by user 300/10s; chat by ip 20000/10s; logout by user 60/m; " +
			"payment by user 10/m; payment by ip 600/m; coupon by user 10/m; coupon by ip 600/m"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("there is no line %q", want)
		}
	}
	for line := range strings.Lines(text) {
		if line != "\n" && !strings.HasPrefix(line, "#") {
			t.Errorf("set is %q, want nothing but defaults", line)
		}
	}
}

// completions by shell: what a script offers for a line, with the cursor at its end.
var completions = map[string]func(t *testing.T, line string) []string{
	"bash": func(t *testing.T, line string) []string {
		return strings.Fields(output(t, nil, "bash", "-c", `source "$0/flashsale.bash"
			COMP_WORDS=($1) COMP_LINE=$1; [[ $1 == *" " ]] && COMP_WORDS+=("")
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			compopt() { :; } # needs a shell with a user
			_flashsale; echo "${COMPREPLY[@]}"`, programs, line))
	},
	"fish": func(t *testing.T, line string) (list []string) {
		out := output(t, nil, "fish", "--no-config", "-c", "source $argv[1]/flashsale.fish; complete -C $argv[2]",
			programs, line)
		for found := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(found), "\t")
			list = append(list, word)
		}
		return list
	},
	// zsh completes in a terminal only, so functions stand for compadd and _arguments: they show what is
	// offered.
	"zsh": func(t *testing.T, line string) (list []string) {
		out := output(t, nil, "zsh", "-f", "-c", `
			compadd() { shift; print -rl -- "$@"; }
			_arguments() {
				local spec before=$words[CURRENT-1]
				for spec; do
					[[ $spec == "${before}["*":("* ]] && print -rl -- ${=${spec##*\(}%\)} && return
				done
				for spec; do print -r -- ${spec%%\[*}; done
			}
			words=(${=1}); [[ $1 == *" " ]] && words+=(""); CURRENT=$#words
			source $0/_flashsale`, programs, line)
		return strings.Fields(out)
	},
}

var completionTests = []struct{ line, has, hasNot string }{
	{"flashsale ", "sale", "open"},
	{"flashsale ", "-version", "opens"},
	{"flashsale audit -redis-", "-redis-host", "-keep"},
	{"flashsale sale ", "open", "audit"},
	{"flashsale sale open -", "-at", "-delete"},
	{"flashsale sale open -", "-app-port", "-keep"},
	{"flashsale sale export -format ", "jsonl", "-at"},
	{"flashsale sale export -format jsonl -", "-app-port", "-at"},
	{"flashsale sale new -", "-keep", "-at"},
}
