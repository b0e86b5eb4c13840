package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// manual is flashsale(1): the program's help in the form of man, with what a help has no room for.
func manual(commands []command, version string, at time.Time) []byte {
	var page bytes.Buffer
	server := commands[0]
	fmt.Fprintf(&page, ".TH FLASHSALE 1 %s \"flashsale %s\" \"Flash sale server\"\n",
		at.Format(time.DateOnly), version)
	page.WriteString(`.SH NAME
flashsale \- flash sale server: sells a limited stock to many buyers at once over HTTP
.SH SYNOPSIS
.B flashsale
.RI [ flags ]
`)
	for _, c := range commands[1:] {
		fmt.Fprintf(&page, ".br\n.B flashsale %s\n.RI [ flags ]\n", roff(c.name))
	}
	page.WriteString(".SH DESCRIPTION\n")
	manualLines(&page, server.usage)
	for _, g := range server.groups {
		fmt.Fprintf(&page, ".SH %s\n", roff(strings.ToUpper(g.title)))
		manualFlags(&page, g)
	}
	for _, c := range commands[1:] {
		fmt.Fprintf(&page, ".SH FLASHSALE %s\n", roff(strings.ToUpper(c.name)))
		own, served := c.beyond(server)
		if !served || len(own) > 0 || !slices.Equal(c.usage, server.usage) {
			manualLines(&page, c.usage)
		}
		if served {
			page.WriteString("It takes the flags of the server.\n")
		}
		for _, g := range own {
			fmt.Fprintf(&page, ".SS %s\n", roff(g.title))
			manualFlags(&page, g)
		}
	}
	page.WriteString(manualEnd)
	return page.Bytes()
}

// manualEnd is what no flag tells. The unit and the packages have these paths.
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

func manualLines(page *bytes.Buffer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(page, "%s\n.br\n", roff(line))
	}
}

func manualFlags(page *bytes.Buffer, g group) {
	for _, o := range g.flags {
		fmt.Fprintf(page, ".TP\n\\fB\\-%s\\fR", roff(o.name))
		if !o.isSwitch() {
			fmt.Fprintf(page, " \\fI%s\\fR", roff(o.value))
		}
		if o.variable != "" {
			fmt.Fprintf(page, "  [%s]", roff(o.variable))
		}
		fmt.Fprintf(page, "\n%s\n", roff(o.text))
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
