package config

import (
	"fmt"
	"time"

	"flashsale/internal/rooms/traffic"
)

const trafficKeysMax = 1_000_000

type trafficFlags struct {
	TrafficTiers []traffic.Tier
	TrafficZone  *time.Location
	TrafficKeys  int

	traffic, retention, zone string
}

func (c *trafficFlags) add(f *Flags) {
	f.Group("Traffic statistics")
	f.Choice(&c.traffic, "traffic", []string{"on", "off"}, "`on or off`: count calls, foods and keys of other "+
		"programs; off: /traffic is 404")
	f.Text(&c.retention, "traffic-retention", traffic.DefaultRetention, "`tiers`, each a step (minutes that "+
		"divide an hour, 1h, 1d, 1w, 1mo, 1y) and how long it is kept, before it is added up into the next one")
	f.Text(&c.zone, "traffic-tz", "UTC", "time `zone` of days, weeks, months and years, as Europe/Berlin, the "+
		"same on all servers")
	f.Number(&c.TrafficKeys, "traffic-keys", 10_000, 1, trafficKeysMax, "most `keys`; hits of further ones "+
		"are counted under the key other")
	f.Check(func() (err error) {
		if c.TrafficTiers, err = traffic.ParseRetention(c.retention); err != nil {
			return fmt.Errorf("%s: %w", f.source("traffic-retention"), err)
		}
		if c.TrafficZone, err = traffic.LoadZone(c.zone); err != nil {
			return fmt.Errorf("%s is %q; it must be a time zone, as Europe/Berlin", f.source("traffic-tz"), c.zone)
		}
		return nil
	})
}

// Traffic reports whether the room is on.
func (c *trafficFlags) Traffic() bool { return c.traffic == "on" }
