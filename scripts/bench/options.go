package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3"

	"flashsale/internal/catalog"
	"flashsale/internal/config"
)

const (
	concurrencyMax = 100_000 // buyers at once: each holds a goroutine, a buffer and a connection per server
	serversMax     = 64
	rateMax        = 1_000_000 // flows a second
	roundsMax      = 1000
	listMax        = 64 // numbers in one option
	timeoutMax     = 10 * time.Minute

	ordersDefault        = 10_000
	compareOrdersDefault = 20_000
)

// style says in which of the ways known from the contest's clients the requests are sent.
type style struct {
	tokenInQuery   bool // access_token in the query instead of the header Access-Token
	newConnections bool // fresh connections for every flow
	contestBodies  bool // a body {} with the calls that take none
}

// options is everything the command line and the environment say.
type options struct {
	servers       []string // host:port
	concurrency   int      // the first of the next
	concurrencies []int    // more than one only with sides
	orders        int
	duration      time.Duration // of the load; 0 = until all orders are done
	rate          float64       // flows a second in the open loop; 0 = closed loop
	ramp          bool          // raise the rate, step by step of duration
	soak          time.Duration // of a load on a server of its own, whose processes are watched; 0 = none
	idle          int           // connections open and silent while the load runs
	timeout       time.Duration // per request
	seed          uint64
	style         style
	retry         bool
	json          bool
	html          string // path of the page to write; "" = none
	auditOnly     bool
	data          string      // the server's data folder, for root's password
	rootFrom      string      // where that password stands
	tls           *tls.Config // nil = plain HTTP
	catalog       catalog.Config

	sides  []side // to compare, none = one load of the servers
	rounds int    // of a comparison

	given   map[string]bool // flags set, by name
	command string          // all that is not a default, as flags
}

// raw are the options that are taken apart after they were read.
type raw struct {
	servers, concurrencies, sides, vsServers, vsPids string

	tls   bool
	tlsCA string
}

func (o *options) register(fs *flag.FlagSet, l *raw) {
	fs.StringVar(&l.servers, "addr", "127.0.0.1:8080", "servers of the sale, `host:port[,host:port...]`")
	fs.StringVar(&l.concurrencies, "concurrency", "1000", "buyers at once, `number`; with -compare also several, each gives a table")
	fs.IntVar(&o.orders, "orders", ordersDefault, fmt.Sprintf("orders to try, each by another user (with -compare %d in each run)", compareOrdersDefault))
	fs.DurationVar(&o.duration, "duration", 0, "end the load after this long; 0 = when all orders are done")
	fs.Float64Var(&o.rate, "rate", 0, "open loop: start so many `flows` a second, whether the last ones ended or not (-concurrency at once at most), and count each from its intended start")
	fs.BoolVar(&o.ramp, "ramp", false, fmt.Sprintf("raise -rate (from %v) by a quarter every -duration (%v) until the sale no longer follows", rampRateDefault, rampStepDefault))
	fs.DurationVar(&o.soak, "soak", 0, fmt.Sprintf("start a server and load it for so `long` at -rate (%.0f%% of a peak that is measured first), with as many users as that takes; fails if its memory, threads, files or goroutines grow", 100*soakLoadFactor))
	fs.IntVar(&o.idle, "idle", 0, "open so many `connections` before the load and leave them idle; -compare says what memory each takes")
	fs.DurationVar(&o.timeout, "timeout", 10*time.Second, "longest wait for one request")
	fs.Uint64Var(&o.seed, "seed", 0, "seed of every random choice; 0 = a random one, which is printed")
	fs.BoolVar(&o.style.tokenInQuery, "token-in-query", false, "send the token as access_token in the query, not as a header")
	fs.BoolVar(&o.style.newConnections, "new-connections", false, "open new connections for every order")
	fs.BoolVar(&o.style.contestBodies, "contest-bodies", false, "send {} with GET /foods and POST /carts")
	fs.BoolVar(&o.retry, "retry", false, "send orders with an Idempotency-Key, and again whatever got no answer or a 503; the audit then wants one order of each user who was not refused")
	fs.BoolVar(&o.json, "json", false, "print one JSON object instead of text")
	fs.StringVar(&o.html, "html", "", "write the report as one page with pictures to this `file`")
	fs.BoolVar(&o.auditOnly, "audit-only", false, "no load, only the checks that need no memory of one")
	fs.StringVar(&o.data, "data", "flashsale-data", "data `folder` of the server, where it leaves a root password it made itself")
	fs.BoolVar(&l.tls, "tls", false, "speak TLS; the certificate is not verified")
	fs.StringVar(&l.tlsCA, "tls-ca", "", "speak TLS and verify with the certificates in this PEM `file`")
	fs.StringVar(&l.sides, "compare", "", "start and compare `sides`, separated by |, the first is the base. A side is floor, product or the path of a server, with NAME=VALUE before and flags behind; STORE=off, always, everysec, tcp or own; SERVERS=n of them on one Redis; SLOW=n connections of an attacker, a byte a second each")
	fs.IntVar(&o.rounds, "rounds", 5, "runs of each side with -compare")
	fs.StringVar(&l.vsServers, "vs-url", "", "with -compare: a server that runs already as one more side, `host:port[,host:port...]`")
	fs.StringVar(&l.vsPids, "vs-pids", "", "its processes on this machine, `number[,number...]`, children are found")
	config.AddCatalog(fs, &o.catalog)
}

// parseOptions reads flags first, then the environment. After -h it writes the usage to out and returns flag.ErrHelp; any
// other error is an errUsage.
func parseOptions(args []string, out io.Writer) (options, error) {
	opt := options{given: map[string]bool{}}
	var l raw
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	opt.register(fs, &l)

	fs.Usage = func() {}
	if err := ff.Parse(fs, args, ff.WithEnvVars()); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out, "bench loads a sale and audits it. Every flag has an environment name: capitals, - becomes _ (DB_HOST).")
		fs.SetOutput(out)
		fs.PrintDefaults()
		return opt, flag.ErrHelp
	} else if err != nil {
		return opt, fmt.Errorf("%w: %w (bench -h lists all flags)", errUsage, err)
	}
	if fs.NArg() > 0 {
		return opt, fmt.Errorf("%w: %q is not a flag (bench -h lists all flags)", errUsage, fs.Arg(0))
	}
	fs.Visit(func(f *flag.Flag) { opt.given[f.Name] = true })
	if opt.seed == 0 {
		opt.seed = rand.Uint64()
	}
	opt.command = commandLine(fs)
	if err := opt.split(l); err != nil {
		return opt, err
	}
	if err := opt.check(); err != nil {
		return opt, err
	}
	return opt, opt.findRootPassword()
}

// commandLine gives every setting that is not a default as a flag, whether it came from one or from the environment.
// Passwords are left out.
func commandLine(fs *flag.FlagSet) string {
	line := "bench"
	fs.VisitAll(func(f *flag.Flag) {
		value := f.Value.String()
		switch {
		case value == f.DefValue:
			return
		case strings.Contains(f.Name, "pass"):
			value = "(set)"
		case strings.ContainsAny(value, " |&;<>()$`\\\"'*?"):
			value = strconv.Quote(value)
		}
		line += " -" + f.Name + "=" + value
	})
	return line
}

// split takes the lists apart.
func (o *options) split(l raw) (err error) {
	if o.servers, err = splitServers("addr", l.servers); err != nil {
		return err
	}
	if o.concurrencies, err = splitNumbers("concurrency", l.concurrencies, concurrencyMax); err != nil {
		return err
	}
	o.concurrency = o.concurrencies[0]
	if l.tls || l.tlsCA != "" {
		if o.tls, err = tlsConfig(l.tlsCA); err != nil {
			return err
		}
	}
	if o.ramp && o.rate == 0 {
		o.rate = rampRateDefault
	}
	if o.ramp && o.duration == 0 {
		o.duration = rampStepDefault
	}
	switch {
	case o.given["orders"]:
	case o.rate > 0 && o.duration > 0:
		o.orders = int(math.Ceil(o.rate * o.duration.Seconds()))
	case o.given["compare"]:
		o.orders = compareOrdersDefault
	}
	if !o.given["compare"] {
		return nil
	}
	if o.sides, err = parseSides(l.sides); err != nil {
		return err
	}
	if l.vsServers == "" && l.vsPids == "" {
		return nil
	}
	foreign := side{text: "server at " + l.vsServers}
	if foreign.servers, err = splitServers("vs-url", l.vsServers); err != nil {
		return err
	}
	foreign.pids, err = splitNumbers("vs-pids", l.vsPids, math.MaxInt32)
	o.sides = append(o.sides, foreign)
	return err
}

func splitServers(name, text string) ([]string, error) {
	servers := strings.Split(text, ",")
	if len(servers) > serversMax {
		return nil, fmt.Errorf("%w: -%s names %d servers, at most %d", errUsage, name, len(servers), serversMax)
	}
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		number, numberErr := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || numberErr != nil || number == 0 {
			return nil, fmt.Errorf("%w: -%s %q is not host:port", errUsage, name, server)
		}
	}
	return servers, nil
}

// splitNumbers reads numbers from 1 to most.
func splitNumbers(name, text string, most int) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%w: -%s %q is not a number", errUsage, name, word)
		}
		if number < 1 || number > most {
			return nil, fmt.Errorf("%w: -%s %d is not within 1 to %d", errUsage, name, number, most)
		}
		numbers = append(numbers, number)
	}
	if len(numbers) > listMax {
		return nil, fmt.Errorf("%w: -%s has %d numbers, at most %d", errUsage, name, len(numbers), listMax)
	}
	return numbers, nil
}

// check names the first limit that an option passes.
func (o *options) check() error {
	switch {
	case o.duration < 0:
		return fmt.Errorf("%w: -duration %v is negative", errUsage, o.duration)
	case !(o.rate >= 0 && o.rate <= rateMax):
		return fmt.Errorf("%w: -rate %v is not within 0 to %d", errUsage, o.rate, rateMax)
	case o.orders < 1:
		return fmt.Errorf("%w: -orders %d is less than 1", errUsage, o.orders)
	case o.given["soak"] && (o.soak < soakTimeMin || o.soak > soakTimeMax):
		return fmt.Errorf("%w: -soak %v is not within %v to %v", errUsage, o.soak, soakTimeMin, soakTimeMax)
	case o.idle < 0 || o.idle > idleMax:
		return fmt.Errorf("%w: -idle %d is not within 0 to %d", errUsage, o.idle, idleMax)
	case o.timeout <= 0 || o.timeout > timeoutMax:
		return fmt.Errorf("%w: -timeout %v is not within 0 to %v", errUsage, o.timeout, timeoutMax)
	case o.rounds < 1 || o.rounds > roundsMax:
		return fmt.Errorf("%w: -rounds %d is not within 1 to %d", errUsage, o.rounds, roundsMax)
	}
	return o.checkCombinations()
}

// checkCombinations refuses flags that would be ignored.
func (o *options) checkCombinations() error {
	without, started := []string{"rounds", "vs-url", "vs-pids"}, []string{"addr", "data", "audit-only", "catalog-dir", "db-host", "tls", "tls-ca"}
	with, ownServer := append(started, "html"), append(started, "compare", "ramp", "orders", "duration")
	for _, name := range without {
		if o.given[name] && !o.given["compare"] {
			return fmt.Errorf("%w: -%s belongs to -compare", errUsage, name)
		}
	}
	for _, name := range with {
		if o.given[name] && o.given["compare"] {
			return fmt.Errorf("%w: -%s does not go with -compare, which starts its own servers with the built-in catalogue", errUsage, name)
		}
	}
	for _, name := range ownServer {
		if o.given[name] && o.given["soak"] {
			return fmt.Errorf("%w: -%s does not go with -soak, which starts its own server with the built-in catalogue", errUsage, name)
		}
	}
	switch {
	case o.ramp && (o.given["compare"] || o.given["orders"]):
		return fmt.Errorf("%w: -ramp goes neither with -compare nor with -orders; the rate says how many orders a step takes", errUsage)
	case !o.given["compare"] && len(o.concurrencies) > 1:
		return fmt.Errorf("%w: several -concurrency belong to -compare", errUsage)
	case o.auditOnly && (o.given["rate"] || o.ramp || o.given["idle"] || o.retry):
		return fmt.Errorf("%w: -rate, -ramp, -idle and -retry do not go with -audit-only, which sends no load", errUsage)
	case o.given["compare"] && len(o.sides) < 2:
		return fmt.Errorf("%w: -compare needs two sides or more, such as %q", errUsage, "floor | product")
	}
	return nil
}
