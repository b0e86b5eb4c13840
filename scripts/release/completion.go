package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// next are the words that may follow those of a command: the commands below it, and what stands alone.
func next(commands []command, of string) (offered []string) {
	above := strings.Fields(of)
	for _, c := range commands {
		name := strings.Fields(c.name)
		if len(name) == len(above)+1 && slices.Equal(name[:len(above)], above) {
			offered = append(offered, name[len(above)])
		}
	}
	if of == "" {
		offered = append(offered, "-version")
	}
	return offered
}

// options are the flags of some groups.
func options(groups []group) (list []option) {
	for _, g := range groups {
		list = append(list, g.flags...)
	}
	return list
}

// bashCompletion completes for bash. The server's flags stand there once, behind the commands' own ones.
func bashCompletion(commands []command) []byte {
	var actions, words bytes.Buffer
	server := commands[0]
	action := func(command string, o option) {
		if action := bashAction(o); action != "" {
			fmt.Fprintf(&actions, "\t%s,-%s) %s; return ;;\n", command, o.name, action)
		}
	}
	for _, c := range commands {
		own, served := c.beyond(server)
		offered := next(commands, c.name)
		for _, o := range options(own) {
			action("'"+c.name+"'", o)
			offered = append(offered, "-"+o.name)
		}
		if served {
			offered = append(offered, "$server")
		}
		fmt.Fprintf(&words, "\t'%s') mapfile -t COMPREPLY < <(compgen -W \"%s\" -- \"$word\") ;;\n",
			c.name, strings.Join(offered, " "))
	}
	var names []string
	for _, o := range options(server.groups) {
		action("*", o)
		names = append(names, "-"+o.name)
	}
	return fmt.Appendf(nil, bashFrame, strings.Join(names, " "), actions.Bytes(), words.Bytes())
}

const bashFrame = `# bash completion for flashsale

_flashsale() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i
	local server='%s'
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] && break
		command+="${command:+ }${COMP_WORDS[i]}"
	done
	COMPREPLY=()
	case $command,$before in
%s	esac
	case $command in
%s	esac
}
complete -F _flashsale flashsale
`

// bashAction fills in the value of a flag; it is empty for a flag without one.
func bashAction(o option) string {
	switch {
	case o.isSwitch():
		return ""
	case o.choices() != nil:
		return fmt.Sprintf(`mapfile -t COMPREPLY < <(compgen -W '%s' -- "$word")`, strings.Join(o.choices(), " "))
	case o.takesFile():
		return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word")`
	}
	return ":" // any text: nothing to offer
}

// zshCompletion completes for zsh.
func zshCompletion(commands []command) []byte {
	var file bytes.Buffer
	server := commands[0]
	file.WriteString("#compdef flashsale\n\n_flashsale() {\n\tlocal -a server=(")
	for _, o := range options(server.groups) {
		fmt.Fprintf(&file, "\n\t\t%s", zshSpec(o))
	}
	file.WriteString(`
	)
	local command= word
	for word in ${words[2,CURRENT-1]}; do
		[[ $word == -* ]] && break
		command+=${command:+ }$word
	done
	case $command in
`)
	for _, c := range commands {
		fmt.Fprintf(&file, "\t'%s')\n", c.name)
		if offered := next(commands, c.name); len(offered) > 0 {
			fmt.Fprintf(&file, "\t\tcompadd -- %s\n", strings.Join(offered, " "))
		}
		file.WriteString("\t\t_arguments")
		own, served := c.beyond(server)
		if served {
			file.WriteString(" $server")
		}
		for _, o := range options(own) {
			fmt.Fprintf(&file, " \\\n\t\t\t%s", zshSpec(o))
		}
		file.WriteString(" '*: : '\n\t\t;;\n")
	}
	file.WriteString("\tesac\n}\n\n_flashsale \"$@\"\n")
	return file.Bytes()
}

// zshSpec describes a flag to _arguments.
func zshSpec(o option) string {
	protect := strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`, `\`, `\\`)
	spec := fmt.Sprintf("-%s[%s]", o.name, protect.Replace(o.text))
	switch {
	case o.isSwitch():
	case o.choices() != nil:
		spec += fmt.Sprintf(":%s:(%s)", protect.Replace(o.value), strings.Join(o.choices(), " "))
	case o.takesFile():
		spec += fmt.Sprintf(":%s:_files", protect.Replace(o.value))
	default:
		spec += fmt.Sprintf(":%s: ", protect.Replace(o.value))
	}
	return "'" + spec + "'"
}

// fishCompletion completes for fish.
func fishCompletion(commands []command) []byte {
	var lines bytes.Buffer
	var serving []string // quoted, commands with the flags of the server
	add := func(when string, list []option) {
		for _, o := range list {
			fmt.Fprintf(&lines, "complete -c flashsale -n %s -o %s%s -d %s\n",
				fishQuote(when), o.name, fishValue(o), fishQuote(o.text))
		}
	}
	server := commands[0]
	add("__flashsale_serves", options(server.groups))
	for _, c := range commands {
		when := "__flashsale_command " + fishQuote(c.name)
		for _, word := range next(commands, c.name) {
			fmt.Fprintf(&lines, "complete -c flashsale -n %s -a %s\n", fishQuote(when), fishQuote(word))
		}
		own, served := c.beyond(server)
		add(when, options(own))
		if served {
			serving = append(serving, fishQuote(c.name))
		}
	}
	return fmt.Appendf(nil, fishFrame, strings.Join(serving, " "), lines.Bytes())
}

const fishFrame = `# fish completion for flashsale

# Reports whether the command of the line is one of the arguments.
function __flashsale_command
    set -l found
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        set -a found $word
    end
    contains -- "$found" $argv
end

# Reports whether the command of the line has the flags of the server.
function __flashsale_serves
    __flashsale_command %s
end

complete -c flashsale -f
%s`

func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// fishValue is what complete has to know of the value of a flag.
func fishValue(o option) string {
	switch {
	case o.isSwitch():
		return ""
	case o.choices() != nil:
		return " -x -a " + fishQuote(strings.Join(o.choices(), " "))
	case o.takesFile():
		return " -r -F"
	}
	return " -x"
}
