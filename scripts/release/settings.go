package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// settingsHead opens the file of settings. A server that was just installed has users with known passwords,
// so what opens it to others comes first, with a warning.
const settingsHead = `# Settings of flashsale.service, a line NAME=value for each; see flashsale(1).
# "systemctl restart flashsale" takes a change. Keep this file readable by root alone: it may hold secrets.
#
# Here stands each setting with its default. Take the # away and change the value.

# The address to listen on; with the default only this machine reaches the server. Name users and foods of
# your own (below) before you set 0.0.0.0: anyone can guess the passwords of the built-in users.
#APP_HOST=127.0.0.1
`

// settingsTaken are what the unit sets or the head has.
var settingsTaken = []string{"DATA", "APP_HOST"}

var stated = regexp.MustCompile(`\(default ([^:()]+)\)$`)

// settings is the file of settings of the service, made from the server's flags.
func settings(groups []group) []byte {
	var file bytes.Buffer
	file.WriteString(settingsHead)
	for _, g := range groups {
		fmt.Fprintf(&file, "\n# == %s\n", g.title)
		for _, o := range g.flags {
			if slices.Contains(settingsTaken, o.variable) {
				continue
			}
			text, value := o.text, ""
			if found := stated.FindStringSubmatchIndex(text); found != nil {
				text, value = text[:found[0]], text[found[2]:found[3]]
			}
			for line := range wrapped(text, 100) {
				fmt.Fprintf(&file, "# %s\n", line)
			}
			fmt.Fprintf(&file, "#%s=%s\n", o.variable, value)
		}
	}
	return file.Bytes()
}

// wrapped splits a text into lines of at most width bytes, where its words allow it.
func wrapped(text string, width int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		line := ""
		for word := range strings.FieldsSeq(text) {
			if line != "" && len(line)+1+len(word) > width {
				if !yield(line) {
					return
				}
				line = ""
			}
			line = strings.TrimSpace(line + " " + word)
		}
		if line != "" {
			yield(line)
		}
	}
}
