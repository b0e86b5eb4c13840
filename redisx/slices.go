package redisx

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"flashsale/redisx/pipeline"
)

// A sale may be cut into slices, so that several Redis masters carry it. A user belongs to one slice, which
// has the user's cart and order, its own stock of every food, its own gate and marker. So an order is one
// script on one master. Slice 0 is the home slice: its marker describes the whole sale. Pieces move from
// slice to slice (transfer.go).

// SlicesMax is the largest number of slices.
const SlicesMax = 256

const slots = 16384 // of a cluster

const homeTag = "{" + MarkerKey + "}" // the hash slot of the marker, which has no tag itself

// sliced reports whether the keys of the sale carry hash tags. Without slices they do only in a cluster,
// where each script needs all its keys in one hash slot.
func (c *Config) sliced() bool { return c.Slices > 1 || c.Cluster }

// tag is the hash tag of a slice: the first number with a hash slot near the wanted slot. The wanted slots
// have equal distances, so that masters with equal ranges of slots get equal numbers of slices.
func (c *Config) tag(slice int) string {
	if !c.sliced() {
		return ""
	}
	if slice == 0 {
		return homeTag
	}
	width := slots / c.Slices
	first := pipeline.Slot(MarkerKey) + slice*slots/c.Slices - width/16
	for n := 0; ; n++ {
		text := strconv.Itoa(n)
		if (pipeline.Slot(text)-first+2*slots)%slots <= width/8 {
			return "{" + text + "}"
		}
	}
}

// SliceCount is the number of slices.
func (c *Config) SliceCount() int { return max(c.Slices, 1) }

// addresses are those of several plain Redis; a cluster or sentinels stand as one.
func (c *Config) addresses() []string {
	if c.Cluster || c.Sentinel != "" {
		return []string{c.Address}
	}
	return strings.Split(c.Address, ",")
}

// Slice returns the Redis of a slice: the master of its hash slot in a cluster, else one of the addresses in
// turn.
func (c *Config) Slice(slice int) pipeline.Config {
	one := c.Config
	if c.Cluster {
		one.Slot = pipeline.Slot(c.tag(slice))
	}
	addresses := c.addresses()
	one.Address = addresses[slice%len(addresses)]
	return one
}

// Home returns the Redis of the home slice.
func (c *Config) Home() pipeline.Config { return c.Slice(0) }

// Room returns the Redis of a room whose keys have the hash tag.
func (c *Config) Room(tag string) pipeline.Config {
	one := c.Home()
	if c.Cluster {
		one.Slot = pipeline.Slot(tag)
	}
	return one
}

// Spread returns the Redis of a room with parts, see pipeline.NewSpread.
func (c *Config) Spread() (list []pipeline.Config) {
	one := c.Config
	if c.Cluster {
		for part := range pipeline.Parts {
			one.Slot = pipeline.Slot(pipeline.PartTag(part))
			list = append(list, one)
		}
		return list
	}
	for _, address := range c.addresses() {
		one.Address = address
		list = append(list, one)
	}
	return list
}

// conns is the number of connections that reach all slices: one for each address, or for each slice of a
// cluster. Slice i uses connection i modulo that number.
func (c *Config) conns() int {
	if c.Cluster {
		return c.SliceCount()
	}
	return min(len(c.addresses()), c.SliceCount())
}

// sliceOf is the slice of a user. Neighbours among the users are spread over the slices.
func sliceOf(user uint32, slices int) int {
	const mix = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio (Knuth, vol. 3, 6.4)
	return int((uint64(user) * mix >> 32) % uint64(slices))
}

// SliceOf is the slice of a user.
func (c *Config) SliceOf(user uint32) int { return sliceOf(user, c.SliceCount()) }

// share is the part of a slice in a number of pieces. The rest of the division goes to the slices in turn,
// from another slice on for each food.
func share(pieces int64, food, slice, slices int) int64 {
	part := pieces / int64(slices)
	if turn := (slice - food%slices + slices) % slices; int64(turn) < pieces%int64(slices) {
		part++
	}
	return part
}

// Shares is the part of a slice in the stock of each food, as texts.
func (c *Config) Shares(stock []int64, slice int) (texts []string) {
	for food, pieces := range stock {
		texts = append(texts, strconv.FormatInt(share(pieces, food, slice, c.SliceCount()), 10))
	}
	return texts
}

func sumOf(stock []int64) (sum int64) {
	for _, pieces := range stock {
		sum += pieces
	}
	return sum
}

// Discover returns the Config with the number of slices of the sale that Redis holds. For a first sale these
// are Slices or, if that is 0, as many as there are masters. Errors: ErrOtherSlices, or why Redis cannot be
// asked.
func (c Config) Discover(ctx context.Context) (Config, error) {
	marker, err := ReadMarker(ctx, c)
	if errors.Is(err, ErrNoSale) {
		if home := c.otherHome(ctx); home != "" {
			return c, fmt.Errorf("%w: the first address of -redis must be %s, which has the home slice of the sale; "+
				"name all addresses in the same order for all servers", ErrOtherSlices, home)
		}
	}
	switch {
	case errors.Is(err, ErrNoSale) && c.Slices == 0:
		masters, err := c.masters(ctx)
		c.Slices = len(masters)
		return c, err
	case errors.Is(err, ErrNoSale):
		return c, nil
	case err != nil:
		return c, err
	case c.Slices != 0 && c.Slices != marker.Slices:
		return c, otherSlices(c, marker.Sale, marker.Slices)
	}
	c.Slices = marker.Slices
	return c, nil
}

// otherHome is the address of the home slice of a sale if that is not the first one, "" for none.
func (c *Config) otherHome(ctx context.Context) string {
	for _, address := range c.addresses()[1:] {
		other := *c
		other.Address = address
		if _, err := ReadMarker(ctx, other); err == nil {
			return address
		}
	}
	return ""
}

func otherSlices(c Config, sale string, has int) error {
	return fmt.Errorf("%w: sale %s at %s has %d, -slices (SLICES) is %d", ErrOtherSlices, sale, c.Address, has,
		c.Slices)
}

// masters are the Redis masters, also those without a slice.
func (c *Config) masters(ctx context.Context) (list []pipeline.Config, err error) {
	one := c.Config
	if !c.Cluster {
		for _, address := range c.addresses() {
			one.Address = address
			list = append(list, one)
		}
		return list, nil
	}
	topology, err := pipeline.Topology(ctx, one)
	for _, node := range topology.Primaries() {
		if len(node.Slots) > 0 {
			one.Slot = int(node.Slots[0][0])
			list = append(list, one)
		}
	}
	return list, err
}

// Durability is what a crash can destroy: that of the Redis which can lose most, of those that answer.
func (c Config) Durability(ctx context.Context) (worst pipeline.Durability, err error) {
	for i := range c.conns() {
		one, err := pipeline.ReadDurability(ctx, c.Slice(i))
		switch {
		case err != nil && i == 0:
			return pipeline.Durability{}, err
		case err != nil: // AwaitLoaded has logged it
		case i == 0 || worst.Full && !one.Full:
			worst = one
		}
	}
	return worst, nil
}
