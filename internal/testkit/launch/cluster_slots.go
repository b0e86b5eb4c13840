package launch

import (
	"errors"
	"net"
	"strconv"
	"strings"
)

// MoveSlot moves a slot with its keys to another master.
func (c *Cluster) MoveSlot(slot int, to *ClusterNode) error {
	from := c.Master(slot)
	if from == to {
		return nil
	}
	return errors.Join(c.BeginMove(slot, from, to), c.MoveKeys(slot, from, to), c.EndMove(slot, from, to))
}

// BeginMove begins a move: a key that is not at its old master is looked for at the new one.
func (c *Cluster) BeginMove(slot int, from, to *ClusterNode) error {
	return errors.Join(to.do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "IMPORTING", from.ID),
		from.do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", to.ID))
}

// MoveKeys moves the keys of the slot, one after another.
func (c *Cluster) MoveKeys(slot int, from, to *ClusterNode) error {
	const script = "return redis.call('CLUSTER', 'GETKEYSINSLOT', ARGV[1], 1)[1] or ''"
	for {
		key, err := from.Ask("EVAL", script, "0", strconv.Itoa(slot))
		if err != nil || key == "" {
			return err
		}
		host, port, _ := net.SplitHostPort(to.Address)
		if err := from.do("MIGRATE", host, port, key, "0", migrateTimeout); err != nil {
			return err
		}
	}
}

// EndMove makes the move known, to the new master first.
func (c *Cluster) EndMove(slot int, from, to *ClusterNode) error {
	command := []string{"CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", to.ID}
	return errors.Join(to.do(command...), from.do(command...))
}

// holdsSlot looks for a slot in fields like 5, 0-99 and [7->-id], which is a slot that is being moved.
func holdsSlot(fields []string, slot int) bool {
	for _, field := range fields {
		first, last, isRange := strings.Cut(field, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		if err == nil && from <= slot && slot <= to {
			return true
		}
	}
	return false
}
