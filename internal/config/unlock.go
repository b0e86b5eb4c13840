package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Unlock is what flashsale unlock is to do, with the settings of the servers.
type Unlock struct {
	*Config
	Name string // of a user
}

const unlockUsage = `flashsale unlock NAME [flags] lets a user log in again after too many failed logins, on
all servers and from everywhere.
It asks Redis with the settings of the servers; these need not run.
Exit code: 0 done, 2 it failed or a flag is wrong.
`

// ParseUnlock reads the arguments of flashsale unlock. After -h the error is flag.ErrHelp.
func ParseUnlock(args []string, out io.Writer) (*Unlock, error) {
	u := &Unlock{}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		u.Name, args = args[0], args[1:]
	}
	u.Config = newConfig(func(f *Flags) {
		f.EndHelp("Flags of the server are taken (flashsale -h): -data, -redis or -redis-host for the Redis.")
	})
	if err := u.flags.Parse(args, out, unlockUsage); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("%w (flashsale unlock NAME [flags])", err)
	}
	if u.Name == "" {
		return nil, errors.New("no name is given; say whom to unlock: flashsale unlock NAME [flags]")
	}
	return u, nil
}
