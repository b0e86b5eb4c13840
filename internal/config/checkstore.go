package config

import (
	"errors"
	"io"
)

const checkStoreUsage = `flashsale check-store [flags] looks at all nodes of Redis.
These are the nodes of -redis-cluster, those that the sentinels of -redis-sentinel know, or those of -redis
with their replicas. Lines tell what is well, what to know, and what would lose orders with the -ack of the
flags.
Exit code: 0 all is well, 1 something is not, 2 no node was reached or a flag is wrong.
`

// ParseCheckStore reads the arguments of flashsale check-store. After -h the error is flag.ErrHelp.
func ParseCheckStore(args []string, out io.Writer) (*Config, error) {
	c := newConfig(func(f *Flags) {
		f.EndHelp("Flags of the server are taken (flashsale -h): -redis-cluster, -redis-sentinel, -redis or " +
			"-redis-host for the Redis, -ack.")
	})
	c.flags.Check(func() error {
		if c.Redis.Address == "" {
			return errors.New("no Redis is named: set -redis-cluster, -redis-sentinel, -redis or -redis-host")
		}
		return nil
	})
	if err := c.flags.Parse(args, out, checkStoreUsage); err != nil {
		return nil, err
	}
	return c, nil
}
