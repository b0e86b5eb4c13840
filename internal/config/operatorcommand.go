package config

import (
	"errors"
	"io"

	"flashsale/internal/rooms/operators"
)

// The verbs of flashsale operator.
const (
	OperatorAdd    = "add"
	OperatorPasswd = "passwd"
	OperatorTOTP   = "totp"
	OperatorRemove = "remove"
	OperatorList   = "list"
)

// OperatorCommand is what flashsale operator is to do.
type OperatorCommand struct {
	Verb, Name string
	Operators  string // file or, for OperatorList, a database too

	Role operators.Role // OperatorAdd
	Off  bool           // OperatorTOTP: take the second factor away
}

var operatorVerbs = verbs{
	command: "operator", does: "keeps the list of the people who run the sale",
	list: []verb{
		{name: OperatorAdd, object: "NAME", usage: "adds an operator, and makes the file if it is not there"},
		{name: OperatorPasswd, object: "NAME", usage: "changes the password, which ends all logins of the " +
			"operator"},
		{name: OperatorTOTP, object: "NAME", usage: "makes a second factor and recovery codes, in place " +
			"of those of before, and prints them once"},
		{name: OperatorRemove, object: "NAME", usage: "removes an operator, which ends all logins of the " +
			"operator"},
		{name: OperatorList, usage: "prints number, name, role and whether there is a second factor, with tabs " +
			"between them"},
	},
	end: `Passwords are asked for on the terminal, or read as a line from standard input. They have at least 12
characters. Running servers take a change with SIGHUP. A list in a database is only printed.
Exit code: 0 done, 1 the list does not permit that, 2 it failed or a flag is wrong.
`,
}

// ParseOperator reads the arguments of flashsale operator. After -h the error is flag.ErrHelp.
func ParseOperator(args []string, out io.Writer) (*OperatorCommand, error) {
	chosen, name, rest, err := operatorVerbs.choose(args, out)
	if err != nil {
		return nil, err
	}
	c := &OperatorCommand{Verb: chosen.name, Name: name}
	f := NewFlags("flashsale operator")
	f.Group("Flags")
	f.operators(&c.Operators)
	switch c.Verb {
	case OperatorAdd:
		f.Choice((*string)(&c.Role), "role", []string{string(operators.Operates), string(operators.Viewer),
			string(operators.Admin)}, "`role`: a viewer reads, an operator also changes the sale, an admin does all")
		f.argumentsOnly("role")
	case OperatorTOTP:
		f.Switch(&c.Off, "off", "take the second factor away")
		f.argumentsOnly("off")
	}
	if err := f.Parse(rest, out, operatorVerbs.usageOf(chosen)); err != nil {
		return nil, err
	}
	if c.Operators == "" {
		return nil, errors.New("no list of operators is named: -operators FILE (OPERATORS)")
	}
	if operators.IsDatabase(c.Operators) && c.Verb != OperatorList {
		return nil, errors.New("the list is in a database, which this command does not change: make a row in " +
			"a file and copy it into the table operators")
	}
	return c, nil
}
