package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// helpLimit ends a program that hangs.
const helpLimit = 30 * time.Second

// writeDocuments writes all documents into the stage, beside the programs.
func writeDocuments(stage, source, version, revision string, at time.Time) error {
	commands, err := readHelp(filepath.Join(stage, runtime.GOARCH, "flashsale"))
	if err != nil {
		return err
	}
	modules, err := findModules(stage, source)
	if err != nil {
		return err
	}
	bill, err := bill(modules, version, revision, at)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"flashsale.1": manual(commands, version, at), "flashsale.conf": settings(commands[0].help),
		"notices.txt": notices(modules), "sbom.cdx.json": bill, "ca-certificates.crt": certificates(),
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(stage, name), text, 0o644))
	}
	return errors.Join(err, completeWith(stage))
}

// completeWith inserts the common part of the completions.
func completeWith(stage string) error {
	offers, err := os.ReadFile(filepath.Join(stage, "offers.awk"))
	for _, name := range []string{"_flashsale", "flashsale.bash", "flashsale.fish"} {
		path := filepath.Join(stage, name)
		text, failed := os.ReadFile(path)
		text = bytes.Replace(text, []byte("@OFFERS@\n"), offers, 1)
		err = errors.Join(err, failed, os.WriteFile(path, text, 0o644))
	}
	return err
}

// command is one of the program's commands and its help. The name of the server is "".
type command struct{ name, help string }

// paragraphs are the usage and the groups of flags, each under its title.
func (c command) paragraphs() []string { return strings.Split(strings.TrimSpace(c.help), "\n\n") }

var mention = regexp.MustCompile(`(?m)^flashsale ([a-z]+)(?: ([a-z]+(?:\|[a-z]+)*))?`)

// readHelp asks the program for the help of all its commands. Some words only look like a command: the
// program refuses them.
func readHelp(program string) (commands []command, err error) {
	server, err := help(program)
	commands = []command{{"", server}}
	for i := 0; i < len(commands) && err == nil; i++ {
		for _, found := range mention.FindAllStringSubmatch(commands[i].paragraphs()[0], -1) {
			names := []string{found[1]}
			for sub := range strings.SplitSeq(found[2], "|") {
				names = append(names, strings.TrimSpace(found[1]+" "+sub))
			}
			for _, name := range names {
				known := slices.ContainsFunc(commands, func(c command) bool { return c.name == name })
				if text, refused := help(program, strings.Fields(name)...); refused == nil && !known {
					commands = append(commands, command{name, text})
				}
			}
		}
	}
	return commands, err
}

// help is the output of -h of a command, without the machine's settings.
func help(program string, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), helpLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(words, "-h")...)
	cmd.Env = []string{"APP_HOST=127.0.0.1"}
	text, err := cmd.Output()
	return string(text), err
}

var (
	flagLine = regexp.MustCompile(`^  -(\S+)(?: (\S.*?))?(?:  \[(\w+)\])?$`)
	stated   = regexp.MustCompile(` *\(default ([^:()]+)\)$`)
)

// takesServers begins the last line of the help of a command that takes the flags of the server without
// listing them.
const takesServers = "Flags of the server are taken"

// manual is flashsale(1): the program's help in the form of man, and more.
func manual(commands []command, version string, at time.Time) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, ".TH FLASHSALE 1 %s \"flashsale %s\" \"Flash sale server\"\n%s",
		at.Format(time.DateOnly), version, manualBegin)
	for _, c := range commands[1:] {
		fmt.Fprintf(&page, ".br\n.B flashsale %s\n.RI [ flags ]\n", roff(c.name))
	}
	page.WriteString(".SH DESCRIPTION\n")
	server := commands[0].paragraphs()
	for i, c := range commands {
		title := ".SH %s\n"
		if i > 0 {
			fmt.Fprintf(&page, ".SH FLASHSALE %s\n", roff(strings.ToUpper(c.name)))
			title = ".SS %s\n"
		}
		served := false
		for _, paragraph := range c.paragraphs() {
			switch {
			case i > 0 && slices.Contains(server, paragraph), strings.HasPrefix(paragraph, takesServers):
				served = true
			case strings.Contains(paragraph, "\n  -"):
				manualFlags(&page, title, paragraph)
			default:
				page.WriteString(strings.ReplaceAll(roff(paragraph), "\n", "\n.br\n") + "\n.br\n")
			}
		}
		if served {
			page.WriteString("It takes the flags of the server.\n")
		}
	}
	page.WriteString(manualEnd)
	return page.Bytes()
}

const manualBegin = `.SH NAME
flashsale \- flash sale server: sells a limited stock to many buyers at once over HTTP
.SH SYNOPSIS
.B flashsale
.RI [ flags ]
`

// manualEnd is not in the help. The unit and the packages have these paths.
const manualEnd = `.SH SIGNALS
.TP
.B SIGTERM, SIGINT
Answer the requests under way, then stop. A second one kills.
.TP
.B SIGHUP
Read the users, the certificate, the rate limits and the blocklist's source again and replace the workers one
by one, without refusing a request.
.SH FILES
.TP
.I /etc/flashsale/flashsale.conf
Settings of the service: a line NAME=value for each environment name above. Only root can read it.
.TP
.I /var/lib/flashsale
Data folder of the service: the private redis\-server with the orders, the token secret, root's password.
.SH SEE ALSO
.BR redis\-server (1),
.BR systemctl (1),
.BR journalctl (1)
`

// manualFlags writes a group of flags.
func manualFlags(page *bytes.Buffer, title, group string) {
	first, flags, _ := strings.Cut(group, "\n")
	if title == ".SH %s\n" {
		first = strings.ToUpper(first)
	}
	fmt.Fprintf(page, title, roff(first))
	for line := range strings.SplitSeq(flags, "\n") {
		flag := flagLine.FindStringSubmatch(line)
		if flag == nil {
			page.WriteString(roff(strings.TrimSpace(line)) + "\n")
			continue
		}
		fmt.Fprintf(page, ".TP\n\\fB\\-%s\\fR", roff(flag[1]))
		if flag[2] != "" {
			fmt.Fprintf(page, " \\fI%s\\fR", roff(flag[2]))
		}
		if flag[3] != "" {
			fmt.Fprintf(page, "  [%s]", roff(flag[3]))
		}
		page.WriteString("\n")
	}
}

// roff protects a text from being read as commands of roff.
func roff(text string) string {
	protect := strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)
	if strings.HasPrefix(text, ".") {
		return `\&` + protect.Replace(text)
	}
	return protect.Replace(text)
}

// settingsHead opens the file of settings. A server that was just installed has users with known passwords,
// so the setting that opens it to others comes first, with a warning.
const settingsHead = `# Settings of flashsale.service, a line NAME=value for each; see flashsale(1).
# "systemctl restart flashsale" takes a change. Keep this file readable by root alone: it may hold secrets.
#
# Here stands each setting with its default. Take the # away and change the value.

# The address to listen on; with the default only this machine reaches the server. Name users and foods of
# your own (below) before you set 0.0.0.0: anyone can guess the passwords of the built-in users.
#APP_HOST=127.0.0.1
`

// settings is the file of settings of the service, made from the server's help. The unit sets DATA.
func settings(help string) []byte {
	var file bytes.Buffer
	file.WriteString(settingsHead)
	for _, group := range strings.Split(help, "\n\n")[1:] {
		title, flags, _ := strings.Cut(group, "\n")
		fmt.Fprintf(&file, "\n# == %s\n", title)
		name := ""
		for line := range strings.Lines(flags) {
			line = strings.TrimRight(line, "\n")
			if flag := flagLine.FindStringSubmatch(line); flag != nil {
				name = flag[3]
				continue
			}
			if name == "DATA" || name == "APP_HOST" || name == "" {
				continue
			}
			text, value := strings.TrimSpace(line), ""
			if found := stated.FindStringSubmatch(text); found != nil {
				text, value = strings.TrimSuffix(text, found[0]), found[1]
			}
			fmt.Fprintf(&file, "# %s\n#%s=%s\n", text, name, value)
		}
	}
	return file.Bytes()
}

// certificates are the roots that Mozilla trusts, in PEM. A root with conditions is left out, because a file
// of certificates cannot hold conditions.
func certificates() []byte {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// Writing to memory cannot fail.
			_ = pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return file.Bytes()
}
