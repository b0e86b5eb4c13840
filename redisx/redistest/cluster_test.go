package redistest

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/internal/testkit"
	"flashsale/internal/testkit/launch"
)

// A cluster serves, a slot moves with its keys, a replica takes the place of a killed master, and the old
// master comes back as its replica, with and without its data.
func TestCluster(t *testing.T) {
	OnPrograms(t, func(t *testing.T, program string) {
		c := Cluster(t, program, 3, 1)
		const slot, key = 12182, "foo" // see CLUSTER KEYSLOT foo
		from, to := c.Master(slot), c.Nodes[0]
		if from != c.Nodes[2] || len(c.Replicas(from)) != 1 {
			t.Fatalf("the slot is at %v, which has %d replicas", from, len(c.Replicas(from)))
		}
		for i := range 3 {
			_, err := from.Ask("SET", fmt.Sprintf("{%s}%d", key, i), "v")
			testkit.Must(t, err)
		}
		testkit.Must(t, c.MoveSlot(slot, to))
		if n, err := to.Ask("CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(slot)); err != nil || n != "3" {
			t.Errorf("the new master has %s of 3 keys, %v", n, err)
		}
		for _, wipe := range []bool{false, true} {
			master := c.Master(slot)
			replica := c.Replicas(master)[0]
			hasKeys := func(n *launch.ClusterNode) func() bool {
				return func() bool {
					count, err := n.Ask("CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(slot))
					return err == nil && count == "3"
				}
			}
			testkit.Until(t, "replica that has heard of the move", func() bool {
				known, err := replica.Ask("CLUSTER", "NODES")
				return err == nil && strings.Contains(known, fmt.Sprint(" ", slot)) && hasKeys(replica)()
			})
			master.Kill()
			testkit.Until(t, "replica that takes over", func() bool { return c.Master(slot) == replica })
			if wipe {
				testkit.Must(t, master.Wipe())
				testkit.Must(t, c.Replace(t.Context(), master, replica))
			} else {
				testkit.Must(t, master.Start(t.Context()))
			}
			testkit.Must(t, c.AwaitReady(t.Context(), 3))
			testkit.Until(t, "all keys at the old master", hasKeys(master))
		}
	})
}
