package config

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestTraffic(t *testing.T) {
	clearEnvironment(t)
	c := parse(t)
	if !c.Traffic() || fmt.Sprint(c.TrafficZone) != "UTC" || c.TrafficKeys != 10_000 ||
		len(c.TrafficTiers) != 5 {
		t.Errorf("defaults: %v, %v, %d, %v", c.Traffic(), c.TrafficZone, c.TrafficKeys, c.TrafficTiers)
	}
	c = parse(t, "-traffic", "off", "-traffic-tz", "Asia/Kolkata", "-traffic-retention", "5m:1d,1h")
	if c.Traffic() || fmt.Sprint(c.TrafficZone) != "Asia/Kolkata" || len(c.TrafficTiers) != 2 {
		t.Errorf("set: %v, %v, %v", c.Traffic(), c.TrafficZone, c.TrafficTiers)
	}
	for args, want := range map[string]string{
		"-traffic maybe":                    `-traffic is "maybe"; it must be on or off`,
		"-traffic-keys 0":                   "-traffic-keys is 0; it must be from 1 to 1000000",
		"-traffic-tz Mars":                  `-traffic-tz is "Mars"; it must be a time zone, as Europe/Berlin`,
		"-traffic-tz=":                      `-traffic-tz is ""; it must be a time zone, as Europe/Berlin`,
		"-traffic-retention 1m:2d":          `-traffic-retention: tier "1m:2d": every tier but`,
		"-traffic-retention 1h:2d,5m":       "-traffic-retention: buckets of 1h do not make up whole ones of 5m",
		"-traffic-retention 1m:2d,5m:1d,1h": "-traffic-retention: tier 5m is kept for 1d, which is no longer",
	} {
		if _, err := Parse(strings.Fields(args), io.Discard); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
