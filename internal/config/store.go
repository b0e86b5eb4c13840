package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"flashsale/redisx"
)

type storeFlags struct {
	DataDir        string
	Redis          redisx.Config // without an Address: the default store
	RequireDurable bool          // refuse a store that can lose an order that was answered

	redis, redisHost string // the ways to name a Redis
	redisPort        int
}

func (c *storeFlags) add(f *Flags) {
	f.Group("Store (without -redis and -redis-host: a private redis-server in the data folder)")
	f.Text(&c.DataDir, "data", "flashsale-data",
		"`folder` of the default store, the token secret and root's password")
	f.Text(&c.redis, "redis", "", "Redis to use, `host:port` or path of a unix socket; several plain Redis share "+
		"the sale: host:port,host:port")
	f.Text(&c.redisHost, "redis-host", "", "`host` of the Redis to use, with -redis-port")
	f.Number(&c.redisPort, "redis-port", 6379, 1, 65535, "its `port`")
	f.Text(&c.Redis.Username, "redis-username", "", "`name` to log in to Redis with")
	f.Secret(&c.Redis.Password, "redis-password", "", "its `password`; better set in the environment")
	f.Number(&c.Redis.Slices, "slices", 0, 0, redisx.SlicesMax,
		"`number` of slices of a new sale, each with a part of the users and of the stock (default: one for each "+
			"Redis master); a sale keeps its slices")
	f.Time(&c.Redis.Timeout, "redis-timeout", 3*time.Second, time.Millisecond, time.Minute,
		"`time` after which a request gets 503")
	f.Switch(&c.RequireDurable, "require-durable", "do not start on a store that could lose an order that "+
		"was answered")
	f.Check(func() error {
		if c.DataDir == "" {
			return errors.New("-data is empty; it must name a folder")
		}
		return c.resolve(f)
	})
	f.needs([]string{"redis-host", "redis"}, "redis-port", "redis-username", "redis-password")
}

// resolve sets the address of Redis.
func (c *storeFlags) resolve(f *Flags) error {
	_, _, hasPort := net.SplitHostPort(c.redisHost)
	switch {
	case c.redis != "" && c.redisHost != "":
		return errors.New("-redis and -redis-host are both set; choose one")
	case strings.HasPrefix(c.redis, "/"):
		c.Redis.Network, c.Redis.Address = "unix", c.redis
	case c.redis != "":
		for address := range strings.SplitSeq(c.redis, ",") {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return fmt.Errorf("%s is %q; it must be host:port, several of them with commas between, or the "+
					"absolute path of a unix socket", f.source("redis"), c.redis)
			}
		}
		c.Redis.Network, c.Redis.Address = "tcp", c.redis
	case hasPort == nil:
		host := f.source("redis-host")
		port := strings.NewReplacer("host", "port", "HOST", "PORT").Replace(host)
		return fmt.Errorf("%s is %s; it must be a host without port (%s)", host, c.redisHost, port)
	case c.redisHost != "":
		c.Redis.Network, c.Redis.Address = "tcp", net.JoinHostPort(c.redisHost, strconv.Itoa(c.redisPort))
	}
	return nil
}
