package config

import "io"

// The verbs of flashsale account.
const (
	AccountList  = "list"
	AccountReset = "reset"
	AccountClose = "close"
)

// AccountCommand is what flashsale account is to do, with the settings of the servers.
type AccountCommand struct {
	*Config
	Verb string

	User  string // AccountReset, AccountClose: id or name
	Name  string // AccountList: of the one user to list, "" for all
	After int    // AccountList: id
}

var accountVerbs = verbs{
	command: "account", does: "looks after the accounts of people who have registered",
	list: []verb{
		{name: AccountList, usage: "prints id, name, e-mail address, creation and state of all by id, with tabs " +
			"between them"},
		{name: AccountReset, object: "USER", usage: "makes a new password for a user who has lost it, prints it " +
			"and ends all access tokens of the user"},
		{name: AccountClose, object: "USER", usage: "closes an account for good: tokens, e-mail address and " +
			"contacts are deleted, name and orders stay"},
	},
	end: `USER is an id or a name. It asks Redis with the settings of the servers; these need not run.
Exit code: 0 done, 1 there is no such account or it is closed, 2 it failed or a flag is wrong.
`,
}

// ParseAccount reads the arguments of flashsale account. After -h the error is flag.ErrHelp.
func ParseAccount(args []string, out io.Writer) (*AccountCommand, error) {
	chosen, user, rest, err := accountVerbs.choose(args, out)
	if err != nil {
		return nil, err
	}
	c := &AccountCommand{Verb: chosen.name, User: user}
	c.Config = newConfig(c.add)
	if err := c.flags.Parse(rest, out, accountVerbs.usageOf(chosen)); err != nil {
		return nil, err
	}
	return c, nil
}

// add adds the flags of the verb. Its help only names some of the servers' flags.
func (c *AccountCommand) add(f *Flags) {
	if c.Verb == AccountList {
		f.Group("Flags of list, without environment names")
		f.Text(&c.Name, "name", "", "`name` of the one user to list, whatever its case")
		f.Number(&c.After, "after", 0, 0, 1<<32-1, "`id` behind which the list begins")
		f.argumentsOnly("name", "after")
	}
	f.EndHelp("Flags of the server are taken too (flashsale -h): -data, -redis or -redis-host for the Redis.")
}
