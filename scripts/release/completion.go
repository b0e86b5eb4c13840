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

// options are all flags of a command.
func (c command) options() (list []option) {
	for _, g := range c.groups {
		list = append(list, g.flags...)
	}
	return list
}

// bashCompletion completes for bash.
func bashCompletion(commands []command) []byte {
	var file bytes.Buffer
	file.WriteString(`# bash completion for flashsale

_flashsale() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] && break
		command+="${command:+ }${COMP_WORDS[i]}"
	done
	COMPREPLY=()
	case $command,$before in
`)
	for _, c := range commands {
		for _, o := range c.options() {
			if action := bashAction(o); action != "" {
				fmt.Fprintf(&file, "\t'%s',-%s) %s; return ;;\n", c.name, o.name, action)
			}
		}
	}
	file.WriteString("\tesac\n\tcase $command in\n")
	for _, c := range commands {
		offered := next(commands, c.name)
		for _, o := range c.options() {
			offered = append(offered, "-"+o.name)
		}
		fmt.Fprintf(&file, "\t'%s') mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\") ;;\n",
			c.name, strings.Join(offered, " "))
	}
	file.WriteString("\tesac\n}\ncomplete -F _flashsale flashsale\n")
	return file.Bytes()
}

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
	file.WriteString(`#compdef flashsale

_flashsale() {
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
		for _, o := range c.options() {
			fmt.Fprintf(&file, " \\\n\t\t\t%s", zshSpec(o))
		}
		file.WriteString(" \\\n\t\t\t'*: : '\n\t\t;;\n")
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
	var file bytes.Buffer
	file.WriteString(`# fish completion for flashsale

function __flashsale_command
    set -l found
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        set -a found $word
    end
    test "$found" = "$argv"
end

complete -c flashsale -f
`)
	quote := func(text string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
	}
	for _, c := range commands {
		when := quote("__flashsale_command " + c.name)
		for _, word := range next(commands, c.name) {
			fmt.Fprintf(&file, "complete -c flashsale -n %s -a %s\n", when, quote(word))
		}
		for _, o := range c.options() {
			value := " -x"
			switch {
			case o.isSwitch():
				value = ""
			case o.choices() != nil:
				value = " -x -a " + quote(strings.Join(o.choices(), " "))
			case o.takesFile():
				value = " -r -F"
			}
			fmt.Fprintf(&file, "complete -c flashsale -n %s -o %s%s -d %s\n", when, o.name, value, quote(o.text))
		}
	}
	return file.Bytes()
}
