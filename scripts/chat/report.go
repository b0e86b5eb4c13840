package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/scripts/bench/audit"
)

// report is the outcome of a load; -json prints this one object.
type report struct {
	Users        int            `json:"users"`
	Devices      int            `json:"devices"` // connected ones
	Threads      int            `json:"threads"`
	Started      time.Duration  `json:"started_ns"` // until all were connected
	Seconds      float64        `json:"seconds"`    // of the load
	Acknowledged int64          `json:"acknowledged"`
	Unknown      int64          `json:"unknown"` // messages that were never answered
	Refused      map[string]int `json:"refused,omitempty"`
	Stored       float64        `json:"stored_per_second"`
	Delivered    float64        `json:"delivered_per_second"`
	Updates      int64          `json:"updates"` // of threads, on the channels of the users
	Storing      latency        `json:"send_to_acknowledgement"`
	Arriving     latency        `json:"send_to_receipt"`
	Recovered    int64          `json:"recovered"`
	Unrecovered  int64          `json:"unrecovered"`
	Heartbeats   int64          `json:"heartbeats"`
	Unanswered   int64          `json:"heartbeats_unanswered"`
	Checks       []*audit.Check `json:"checks"`
}

// latency is in milliseconds.
type latency struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func latencyOf(h *hdrhistogram.Histogram) latency {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return latency{ms(h.ValueAtQuantile(50)), ms(h.ValueAtQuantile(99)), ms(h.Max())}
}

func (c *crowd) report(started, talked time.Duration) *report {
	times := newTimes()
	for i := range c.arriving {
		times.Merge(c.arriving[i].times)
	}
	return &report{
		Users: len(c.people), Devices: len(c.people) * c.devices, Threads: len(c.records), Started: started,
		Seconds: talked.Seconds(), Acknowledged: c.stored.Load(), Unknown: c.unknown.Load(), Refused: c.refused,
		Stored:    float64(c.stored.Load()) / talked.Seconds(),
		Delivered: float64(c.delivered.Load()) / talked.Seconds(), Updates: c.updates.Load(),
		Storing: latencyOf(c.storing), Arriving: latencyOf(times), Recovered: c.recovered.Load(),
		Unrecovered: c.unrecovered.Load(), Heartbeats: c.beats.Load(), Unanswered: c.lostBeats.Load(),
		Checks: c.checks.list,
	}
}

// write prints the report as text or as JSON.
func (r *report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(out, "%d users with %d connections, threads: %d, connected in %v\n", r.Users, r.Devices,
		r.Threads, r.Started.Round(time.Millisecond))
	fmt.Fprintf(out, "%d messages acknowledged in %.1f s, %.0f/s; %.0f deliveries/s; %d updates of threads\n",
		r.Acknowledged, r.Seconds, r.Stored, r.Delivered, r.Updates)
	fmt.Fprintf(out, "send to acknowledgement %s; send to receipt %s\n", r.Storing, r.Arriving)
	fmt.Fprintf(out, "%d recoveries, %d without the messages; %d heartbeats, %d not answered; "+
		"%d outcomes unknown\n", r.Recovered, r.Unrecovered, r.Heartbeats, r.Unanswered, r.Unknown)
	for _, name := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(out, "refused: %s %d times\n", name, r.Refused[name])
	}
	for _, c := range r.Checks {
		verdict := "ok"
		if c.Violations > 0 {
			verdict = fmt.Sprintf("FAILED %d times, such as %q", c.Violations, c.Examples)
		}
		fmt.Fprintf(out, "  %-66s %8d  %s\n", c.Name, c.Examined, verdict)
	}
	return nil
}

// String is a latency as text.
func (l latency) String() string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, longest %.1f ms", l.P50, l.P99, l.Max)
}
