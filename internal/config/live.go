package config

type liveFlags struct {
	LiveViewers int // of all workers together; 0 is off
}

func (c *liveFlags) add(f *Flags) {
	f.Group("Live view")
	f.Number(&c.LiveViewers, "live-viewers", 20_000, 0, connsMax, "most `viewers` of GET /live at once, in "+
		"equal shares for the workers, and at most three quarters of a worker's connections; set twice what you "+
		"expect, because one worker gets most while another restarts; 0: /live is 404")
}

// WorkerViewers is each worker's share of LiveViewers, at least 1 unless the room is off.
func (c *Config) WorkerViewers() int {
	if c.LiveViewers == 0 {
		return 0
	}
	return max(c.LiveViewers/c.Workers, 1)
}
