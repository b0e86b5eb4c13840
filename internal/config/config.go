// Package config holds every setting of the server: one struct, one flag and one environment name for each.
// The environment name is the flag's name in capitals with _ for -, which gives the contest's names
// (APP_PORT, REDIS_HOST, DB_PASS, ...). A flag wins over the environment.
package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/catalog"
	"flashsale/redisx"
	"flashsale/tokens"
)

// Config is the effective configuration.
type Config struct {
	Host    string // to listen on
	Port    int    // 0: any free one
	Workers int    // processes; 0: serve in this one
	Drain   time.Duration
	Pprof   string // host:port of worker 0's profiles, "" for none

	TLSCert, TLSKey string // names of PEM files, "" for plain HTTP
	MaxConns        int    // of all workers together; 0 is no limit
	MaxConnsPerIP   int    // of one client address to one worker; 0 is no limit
	TrustedProxies  []netip.Prefix

	DataDir        string
	Redis          redisx.Config // Address "" means the default store
	RequireDurable bool          // refuse a store that can lose what was answered

	Catalog     catalog.Config
	ForceReload bool // a SIGHUP takes a list of users that lost more than a tenth, too

	TokenSecret         string // "" means the one in the data folder
	TokenSecretPrevious string
	TokenTTL            time.Duration
	ServiceToken        string // of other programs that use the rooms, "" for none

	Sale             string // id of the one to join, "" for any: it is opened if need be
	SnapshotInterval time.Duration

	Ledger string // data source name of the database that gets the orders, "" for none

	flags   *flag.FlagSet
	given   map[string]bool // flags that are among the arguments
	proxies string          // TrustedProxies as they were given
}

// Address is the host:port to listen on.
func (c *Config) Address() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// Guessable reports whether people on other machines can log in as the built-in users, whose passwords are
// known, when the server listens on this host:port.
func (c *Config) Guessable(address string) bool {
	listens, err := netip.ParseAddrPort(address)
	return c.Catalog.BuiltIn() && c.Catalog.Users > 1 && !(err == nil && listens.Addr().IsLoopback())
}

// WorkerConns is each worker's share of MaxConns, at least 1; 0 is no limit.
func (c *Config) WorkerConns() int {
	if c.MaxConns == 0 {
		return 0
	}
	return max(c.MaxConns/max(c.Workers, 1), 1)
}

// Parse reads the arguments (without the program's name) and the environment. The error is one line;
// flag.ErrHelp after the help was written to out.
func Parse(args []string, out io.Writer) (*Config, error) {
	c := &Config{flags: flag.NewFlagSet("flashsale", flag.ContinueOnError), given: map[string]bool{}}
	c.flags.SetOutput(io.Discard) // one clear line instead of the whole help
	c.flags.Usage = func() {}
	redis := &redisFlags{}
	groups := c.register(redis)
	switch err := c.read(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, help(out, c.flags, groups)
	case err != nil:
		return nil, err
	}
	err := redis.resolve(&c.Redis, c.source)
	if err != nil {
		return nil, err
	}
	if c.TrustedProxies, err = parseNetworks(c.proxies); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *Config) register(redis *redisFlags) []group {
	fs := c.flags
	var groups []group
	add := func(title string, register func()) { groups = append(groups, newGroup(fs, title, register)) }

	add("Listening", func() {
		fs.StringVar(&c.Host, "app-host", "127.0.0.1",
			"`address` to listen on; 0.0.0.0 is every IPv4 address of the machine, :: every one, of IPv4 and IPv6")
		fs.IntVar(&c.Port, "app-port", 8080, "`port` to listen on, shared by all workers")
		fs.IntVar(&c.Workers, "workers", runtime.NumCPU(), "`processes` that serve; 0 serves in this one process")
		fs.DurationVar(&c.Drain, "drain", 10*time.Second, "longest `time` a stop waits for requests under way")
		fs.StringVar(&c.Pprof, "pprof", "", "serve profiles of worker i at `host:port`+i; for this machine only")
	})
	add("Protection", func() {
		fs.StringVar(&c.TLSCert, "tls-cert", "", "`file` with a certificate chain in PEM: serve HTTPS; SIGHUP reads it again")
		fs.StringVar(&c.TLSKey, "tls-key", "", "`file` with its key in PEM")
		fs.IntVar(&c.MaxConns, "max-conns", 20_000, "most `connections` at once, in equal shares for the workers; 0 is no limit")
		fs.IntVar(&c.MaxConnsPerIP, "max-conns-per-ip", 0, "most `connections` at once of a client address to each worker, trusted proxies excepted; 0 is no limit")
		fs.StringVar(&c.proxies, "trusted-proxies", "", "`addresses` and networks, as 10.0.0.1,fd00::/8, whose X-Forwarded-For is believed")
	})
	add("Store (without -redis and -redis-host: a private redis-server in the data folder)", func() {
		fs.StringVar(&c.DataDir, "data", "flashsale-data", "`folder` of the default store, the token secret and root's password")
		fs.StringVar(&redis.address, "redis", "", "Redis to use, `host:port` or path of a unix socket")
		fs.StringVar(&redis.host, "redis-host", "", "`host` of the Redis to use, with -redis-port")
		fs.IntVar(&redis.port, "redis-port", 6379, "its `port`")
		fs.StringVar(&c.Redis.Username, "redis-username", "", "`name` to log in to Redis with")
		fs.StringVar(&c.Redis.Password, "redis-password", "", "its `password`; better set in the environment")
		fs.IntVar(&c.Redis.Connections, "redis-connections", 1, "`connections` of each worker to Redis")
		fs.DurationVar(&c.Redis.Timeout, "redis-timeout", time.Second, "`time` after which a request gets 503")
		fs.BoolVar(&c.RequireDurable, "require-durable", false, "do not start on a store that could lose an order that was answered")
	})
	add("Catalogue (built in, unless -catalog-dir or -db-host is set)", func() {
		AddCatalog(fs, &c.Catalog)
		fs.BoolVar(&c.ForceReload, "force-reload", false,
			"a SIGHUP takes a list of users that lost more than a tenth, too")
	})
	add("Tokens", func() {
		fs.StringVar(&c.TokenSecret, "token-secret", "", fmt.Sprintf("signs tokens and carts, at least %d `bytes`, the same on all servers; better set in the environment (default: made once, kept in the data folder)", tokens.SecretMin))
		fs.StringVar(&c.TokenSecretPrevious, "token-secret-previous", "", "the secret before, which still verifies; `bytes` as above")
		fs.DurationVar(&c.TokenTTL, "token-ttl", 24*time.Hour, "`time` an access token is valid")
		fs.StringVar(&c.ServiceToken, "service-token", "", fmt.Sprintf("lets other programs in (Authorization: Bearer ...), "+
			"at least %d `bytes`; better set in the environment (default: none is let in)", tokens.SecretMin))
	})
	add("Sale", func() {
		fs.StringVar(&c.Sale, "sale", "",
			"`id` of the sale to join: the start fails if Redis does not hold it, and no other is opened")
		fs.DurationVar(&c.Redis.CartTTL, "cart-ttl", time.Hour, "`time` a cart lives from its first piece on")
		fs.DurationVar(&c.SnapshotInterval, "snapshot-interval", 200*time.Millisecond, "`time` between two looks at the stock for GET /foods")
	})
	add("Ledger", func() {
		fs.StringVar(&c.Ledger, "ledger", "", "MySQL or MariaDB that gets every order, `dsn` as in user:password@tcp(host:3306)/name; better set in the environment")
	})
	return groups
}

// AddCatalog registers the flags of the catalogue, the same for the server and for the tools in scripts.
func AddCatalog(fs *flag.FlagSet, c *catalog.Config) {
	fs.IntVar(&c.Users, "users", 10_000, "`number` of users in the built-in catalogue")
	fs.IntVar(&c.Foods, "foods", 100, "`number` of foods in the built-in catalogue")
	fs.IntVar(&c.Stock, "stock", 1000, "`pieces` of each food in the built-in catalogue")
	fs.StringVar(&c.RootPassword, "root-password", "", "`password` of user 1, root; better set in the environment (default: a random one at each start; with CSV and MySQL the one there)")
	fs.StringVar(&c.Dir, "catalog-dir", "", "`folder` with users.csv (id,name,password) and foods.csv (id,stock,price)")
	fs.StringVar(&c.DB.Host, "db-host", "", "`host` of a MySQL or MariaDB with the tables user and food")
	fs.IntVar(&c.DB.Port, "db-port", 3306, "its `port`")
	fs.StringVar(&c.DB.Name, "db-name", "eleme", "`name` of the database")
	fs.StringVar(&c.DB.User, "db-user", "root", "`name` to log in with")
	fs.StringVar(&c.DB.Password, "db-pass", "toor", "its `password`; better set in the environment")
}

func (c *Config) check() error {
	for _, limit := range []struct {
		flag        string
		value       int
		least, most int
	}{
		{"app-port", c.Port, 0, 65535},
		{"workers", c.Workers, 0, 256},
		{"max-conns", c.MaxConns, 0, 10_000_000},
		{"max-conns-per-ip", c.MaxConnsPerIP, 0, 10_000_000},
		{"redis-connections", c.Redis.Connections, 1, 64},
		{"users", c.Catalog.Users, 1, 10_000_000},
		{"foods", c.Catalog.Foods, 1, 100_000},
		{"stock", c.Catalog.Stock, 0, 1_000_000_000},
		{"db-port", c.Catalog.DB.Port, 1, 65535},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			return fmt.Errorf("%s is %d; it must be from %d to %d",
				c.source(limit.flag), limit.value, limit.least, limit.most)
		}
	}
	for _, limit := range []struct {
		flag               string
		value, least, most time.Duration
	}{
		{"drain", c.Drain, time.Millisecond, time.Hour},
		{"redis-timeout", c.Redis.Timeout, time.Millisecond, time.Minute},
		{"token-ttl", c.TokenTTL, time.Second, 10 * 365 * 24 * time.Hour},
		{"cart-ttl", c.Redis.CartTTL, time.Second, 365 * 24 * time.Hour},
		{"snapshot-interval", c.SnapshotInterval, time.Millisecond, time.Second},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			return fmt.Errorf("%s is %v; it must be from %v to %v",
				c.source(limit.flag), limit.value, limit.least, limit.most)
		}
	}
	for name, secret := range map[string]string{
		"token-secret": c.TokenSecret, "token-secret-previous": c.TokenSecretPrevious, "service-token": c.ServiceToken,
	} {
		if n := len(secret); n > 0 && n < tokens.SecretMin {
			return fmt.Errorf("-%s (%s) has %d bytes; it must have at least %d", name, envName(name), n, tokens.SecretMin)
		}
	}
	if strings.ContainsFunc(c.ServiceToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("-service-token (SERVICE_TOKEN) must be visible ASCII characters: it is sent in a header")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("only one of -tls-cert and -tls-key is set; set both, or none for plain HTTP")
	}
	if c.Catalog.Dir != "" && c.Catalog.DB.Host != "" {
		return errors.New("-catalog-dir and -db-host are both set; choose one")
	}
	if c.DataDir == "" {
		return errors.New("-data is empty; it must name a folder")
	}
	return nil
}

// parseNetworks reads -trusted-proxies.
func parseNetworks(list string) (networks []netip.Prefix, err error) {
	for text := range strings.FieldsFuncSeq(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("-trusted-proxies has %q; it must list addresses or networks, as 10.0.0.1,fd00::/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// redisFlags are the three ways to name a Redis.
type redisFlags struct {
	address, host string
	port          int
}

// resolve sets the address; source names where a flag's value comes from.
func (r *redisFlags) resolve(c *redisx.Config, source func(flag string) string) error {
	if r.port < 1 || r.port > 65535 {
		return fmt.Errorf("%s is %d; it must be from 1 to 65535", source("redis-port"), r.port)
	}
	_, _, hasPort := net.SplitHostPort(r.host)
	switch {
	case r.address != "" && r.host != "":
		return errors.New("-redis and -redis-host are both set; choose one")
	case strings.HasPrefix(r.address, "/"):
		c.Network, c.Address = "unix", r.address
	case r.address != "":
		if _, _, err := net.SplitHostPort(r.address); err != nil {
			return fmt.Errorf("%s is %q; it must be host:port or the absolute path of a unix socket",
				source("redis"), r.address)
		}
		c.Network, c.Address = "tcp", r.address
	case hasPort == nil:
		host := source("redis-host")
		port := strings.NewReplacer("host", "port", "HOST", "PORT").Replace(host)
		return fmt.Errorf("%s is %s; it must be a host without port (%s)", host, r.host, port)
	case r.host != "":
		c.Network, c.Address = "tcp", net.JoinHostPort(r.host, strconv.Itoa(r.port))
	}
	return nil
}
