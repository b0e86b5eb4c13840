package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The values of LogFormat.
const (
	LogText = "text"
	LogJSON = "json"
)

// everyMax is the largest n of -access-log 1/n.
const everyMax = 1_000_000_000

type loggingFlags struct {
	LogFormat  string
	AccessLog  int // one request in AccessLog has a line; 0 is off
	RequestIDs bool

	accessLog string // AccessLog as it was given
}

func (c *loggingFlags) add(f *Flags) {
	f.Group("Logging")
	f.Choice(&c.LogFormat, "log-format", []string{LogText, LogJSON},
		"`format` of the log on standard error: text or json")
	f.Text(&c.accessLog, "access-log", "", "log a line for `part` of the requests: all, or 1/100 for one in a "+
		"hundred; replies of 500 and above then all have one (default off)")
	f.Check(func() (err error) {
		if c.AccessLog, err = parsePart(c.accessLog); err != nil {
			return fmt.Errorf("%s is %q; it must be off, all, 1, or 1/n with n from 1 to %d", f.source("access-log"),
				c.accessLog, everyMax)
		}
		return nil
	})
	f.Switch(&c.RequestIDs, "request-ids", "put an X-Request-Id into every reply, not only where a trusted "+
		"proxy has sent one or the log has a line about the request")
}

// parsePart reads -access-log: the n of 1/n, 0 for "".
func parsePart(text string) (every int, err error) {
	switch text {
	case "", "off":
		return 0, nil
	case "1", "all":
		return 1, nil
	}
	digits, ok := strings.CutPrefix(text, "1/")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || n < 1 || n > everyMax {
		return 0, errors.New("no part of the requests")
	}
	return int(n), nil
}
