package operators

import (
	"maps"
	"net/netip"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

// Networks from which operators have logged in. Strangers who guess names must not keep them out.
const (
	networksMax  = 1000 // the last ones; one is 60 bytes here and in Redis
	networksKept = 90 * 24 * time.Hour
	networksPace = 5 * time.Second // between two questions for those of other servers
	networksKey  = HashTag + "networks"
)

// Came notes that an operator has logged in from a network. It does not wait.
func (o *Operators) Came(from netip.Addr) {
	if !o.Knows(from) {
		o.know(func(networks map[netip.Addr]bool) { networks[from] = true })
	}
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	o.redis.Detach(pipeline.Command(new(int64), "ZADD", networksKey, now, from.String()).
		Command(new(int64), "ZREMRANGEBYRANK", networksKey, "0", strconv.Itoa(-networksMax-1)).
		Command(new(int64), "PEXPIRE", networksKey, strconv.FormatInt(networksKept.Milliseconds(), 10)))
}

// Knows reports whether an operator has logged in from a network lately, here or on another server. It does
// not wait.
func (o *Operators) Knows(from netip.Addr) bool {
	networks := o.networks.Load()
	return networks != nil && (*networks)[from]
}

// know replaces the networks by a copy with a change.
func (o *Operators) know(change func(map[netip.Addr]bool)) {
	o.knowing.Lock()
	defer o.knowing.Unlock()
	networks := map[netip.Addr]bool{}
	if old := o.networks.Load(); old != nil && len(*old) <= networksMax {
		maps.Copy(networks, *old)
	}
	change(networks)
	o.networks.Store(&networks)
}

// hearNetworks reads the networks of all servers. What Redis no longer has is forgotten; while it does not
// answer, those of before stay.
func (o *Operators) hearNetworks() time.Duration {
	var texts []string
	if o.redis.Do(pipeline.Command(&texts, "ZRANGE", networksKey, "0", "-1")) == nil {
		o.know(func(networks map[netip.Addr]bool) {
			clear(networks)
			for _, text := range texts {
				if network, err := netip.ParseAddr(text); err == nil {
					networks[network] = true
				}
			}
		})
	}
	return networksPace
}
