package config

import (
	"fmt"
	"net"
	"strconv"
)

type opsFlags struct {
	Ops string // host:port of the metrics; "" is off
}

func (c *opsFlags) add(f *Flags) {
	f.Group("Operations (metrics; off, unless -ops is set)")
	f.Text(&c.Ops, "ops", "", "serve /metrics for Prometheus at `host:port`, as 127.0.0.1:9100; anyone who "+
		"reaches it may read them")
	f.Check(func() error {
		if c.Ops == "" {
			return nil
		}
		_, text, err := net.SplitHostPort(c.Ops)
		if port, wrong := strconv.Atoi(text); err != nil || wrong != nil || port < 0 || port > 65535 {
			return fmt.Errorf("%s is %q; it must be host:port, as 127.0.0.1:9100", f.source("ops"), c.Ops)
		}
		return nil
	})
}
