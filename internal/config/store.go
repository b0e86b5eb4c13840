package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"flashsale/redisx"
	"flashsale/redisx/pipeline"
)

type storeFlags struct {
	DataDir        string
	Redis          redisx.Config // without an Address: the default store
	RequireDurable bool          // refuse a store that can lose an order that was answered

	ack                                 string
	redis, redisHost, cluster, sentinel string // the ways to name a Redis
	redisPort                           int
}

func (c *storeFlags) add(f *Flags) {
	f.Group("Store (without -redis and -redis-host: a private redis-server in the data folder)")
	f.Text(&c.DataDir, "data", "flashsale-data",
		"`folder` of the default store, the token secret and root's password")
	f.Text(&c.redis, "redis", "", "Redis to use, `host:port` or path of a unix socket; several plain Redis "+
		"share the sale: host:port,host:port")
	f.Text(&c.cluster, "redis-cluster", "", "some nodes of the Redis Cluster to use, `host:port,host:port`")
	f.Text(&c.sentinel, "redis-sentinel", "",
		"`name@host:port,host:port`: the master that these sentinels know")
	f.Text(&c.redisHost, "redis-host", "", "`host` of the Redis to use, with -redis-port")
	f.Number(&c.redisPort, "redis-port", 6379, 1, 65535, "its `port`")
	f.Text(&c.Redis.Username, "redis-username", "", "`name` to log in to Redis with")
	f.Secret(&c.Redis.Password, "redis-password", "", "its `password`; better set in the environment")
	f.Number(&c.Redis.Slices, "slices", 0, 0, redisx.SlicesMax,
		"`number` of slices of a new sale, each with a part of the users and of the stock (default: one for each "+
			"Redis master); a sale and those after it keep "+
			"their slices")
	f.Time(&c.Redis.Timeout, "redis-timeout", 3*time.Second, time.Millisecond, time.Minute,
		"`time` after which a request gets 503")
	f.Choice(&c.ack, "ack", pipeline.Acks, "`local|replica|disk`: an order is answered when it is on its "+
		"Redis master, on all replicas too, or on the disks of all of them (flashsale check-store)")
	f.Switch(&c.RequireDurable, "require-durable", "do not start on a store that could lose an order that "+
		"was answered")
	f.Check(func() error {
		if c.DataDir == "" {
			return errors.New("-data is empty; it must name a folder")
		}
		return c.resolve(f)
	})
	f.Check(func() error {
		if c.Redis.Ack = pipeline.Ack(c.ack); c.Redis.Ack != pipeline.AckLocal && c.Redis.Address == "" {
			return fmt.Errorf("%s is %s, but the default store has no replicas; name a Redis with replicas",
				f.source("ack"), c.ack)
		}
		return nil
	})
	f.needs([]string{"redis-host", "redis", "redis-cluster", "redis-sentinel"},
		"redis-port", "redis-username", "redis-password")
}

// resolve sets the address of Redis.
func (c *storeFlags) resolve(f *Flags) error {
	var named []string
	for _, way := range []struct{ flag, value string }{{"-redis", c.redis}, {"-redis-cluster", c.cluster},
		{"-redis-sentinel", c.sentinel}, {"-redis-host", c.redisHost}} {
		if way.value != "" {
			named = append(named, way.flag)
		}
	}
	if len(named) > 1 {
		return fmt.Errorf("%s and %s are both set; choose one", named[0], named[1])
	}
	c.Redis.Network = "tcp"
	switch {
	case strings.HasPrefix(c.redis, "/"):
		c.Redis.Network, c.Redis.Address = "unix", c.redis
	case c.redis != "":
		c.Redis.Address = c.redis
		if !addresses(c.redis) {
			return fmt.Errorf("%s is %q; it must be host:port, several of them with commas between, or the "+
				"absolute path of a unix socket", f.source("redis"), c.redis)
		}
	case c.cluster != "":
		c.Redis.Cluster, c.Redis.Address = true, c.cluster
		if !addresses(c.cluster) {
			return fmt.Errorf("%s is %q; it must be host:port of some nodes, with commas between",
				f.source("redis-cluster"), c.cluster)
		}
	case c.sentinel != "":
		c.Redis.Sentinel, c.Redis.Address, _ = strings.Cut(c.sentinel, "@")
		if c.Redis.Sentinel == "" || !addresses(c.Redis.Address) {
			return fmt.Errorf("%s is %q; it must be the master's name, @ and host:port of some sentinels, with "+
				"commas between", f.source("redis-sentinel"), c.sentinel)
		}
	case c.redisHost != "":
		if _, _, err := net.SplitHostPort(c.redisHost); err == nil {
			host := f.source("redis-host")
			port := strings.NewReplacer("host", "port", "HOST", "PORT").Replace(host)
			return fmt.Errorf("%s is %s; it must be a host without port (%s)", host, c.redisHost, port)
		}
		c.Redis.Address = net.JoinHostPort(c.redisHost, strconv.Itoa(c.redisPort))
	default:
		c.Redis.Network = ""
	}
	return nil
}

// addresses reports whether a text is host:port, or several of them with commas between.
func addresses(text string) bool {
	for address := range strings.SplitSeq(text, ",") {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return false
		}
	}
	return true
}
