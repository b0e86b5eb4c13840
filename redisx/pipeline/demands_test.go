package pipeline

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// Each setting that -ack needs is named with its value, in the modes that need it.
func TestFaults(t *testing.T) {
	good := map[string]string{"min-replicas-to-write": "1", "min-replicas-max-lag": "10", "appendonly": "yes",
		"appendfsync": "always", "maxmemory-policy": "noeviction", "cluster-allow-replica-migration": "no",
		"cluster-replica-validity-factor": "10"}
	replica := Node{Address: "b", Master: "a"}
	for _, tc := range []struct {
		name, setting, value, version string
		replica, disk, alone          string // the faults of each mode, and without a cluster
	}{
		{name: "good", version: "7.2.4"},
		{"old", "", "", "7.0.15", "", "WAITAOF", ""},
		{"replicas", "min-replicas-to-write", "0", "7.2.4", "min-replicas-to-write", "min-replicas-to-write",
			"min-replicas-to-write"},
		{"lag", "min-replicas-max-lag", "0", "7.2.4", "min-replicas-max-lag", "min-replicas-max-lag",
			"min-replicas-max-lag"},
		{"long lag", "min-replicas-max-lag", "60", "7.2.4", "min-replicas-max-lag", "min-replicas-max-lag",
			"min-replicas-max-lag"},
		{"no file", "appendonly", "no", "7.2.4", "appendonly", "appendonly", "appendonly"},
		{"late file", "appendfsync", "everysec", "7.2.4", "", "appendfsync", ""},
		{"eviction", "maxmemory-policy", "allkeys-lru", "7.2.4", "maxmemory-policy", "maxmemory-policy",
			"maxmemory-policy"},
		{"migration", "cluster-allow-replica-migration", "yes", "7.2.4", "migration", "migration", ""},
		{"validity", "cluster-replica-validity-factor", "0", "7.2.4", "validity", "validity", ""},
	} {
		n := Node{Address: "a", Serves: true, Settings: maps.Clone(good)}
		n.Info = map[string]string{"redis_version": tc.version}
		n.Settings[tc.setting] = tc.value
		for _, mode := range []struct {
			ack     Ack
			cluster bool
			want    string
		}{{AckLocal, true, ""}, {AckReplica, true, tc.replica}, {AckDisk, true, tc.disk},
			{AckReplica, false, tc.alone}} {
			got := n.Faults(mode.ack, mode.cluster)
			none := len(got) == 0 && mode.want == ""
			if !none && (len(got) != 1 || mode.want == "" || !strings.Contains(got[0], mode.want)) {
				t.Errorf("%s, %s: %q, want %q", tc.name, mode.ack, got, mode.want)
			}
		}
		if got := n.Alone(AckReplica, []Node{n}); !strings.Contains(got, "no replica") {
			t.Errorf("%s, without a replica: %q", tc.name, got)
		}
		if got := n.Alone(AckReplica, []Node{n, replica}); got != "" {
			t.Errorf("%s, with a replica: %q", tc.name, got)
		}
	}
}

// A replica that is away counts until it cannot be elected any more, and again when it is back.
func TestReplicaThatIsAway(t *testing.T) {
	window := validity(map[string]string{"cluster-replica-validity-factor": "10",
		"cluster-node-timeout": "15000", "repl-ping-replica-period": "10"})
	if window != 160*time.Second || validity(map[string]string{"cluster-replica-validity-factor": "0"}) != 0 {
		t.Errorf("a replica can be elected for %v", window)
	}
	r := &roster{away: map[string]time.Time{}, window: window}
	for range 2 {
		if !r.mayWin("a", true) {
			t.Error("a replica that has just left does not count")
		}
	}
	r.away["a"] = r.away["a"].Add(-window - time.Second)
	if r.mayWin("a", true) {
		t.Error("a replica that is away for too long counts")
	}
	if !r.mayWin("a", false) || !r.mayWin("a", true) {
		t.Error("a replica that was back does not count")
	}
	r.window, r.away["a"] = 0, time.Time{}
	if !r.mayWin("a", true) {
		t.Error("a replica that may be elected for ever does not count")
	}
}

func TestParseNodes(t *testing.T) {
	list := parseNodes("a1 10.0.0.1:7000@17000,host myself,master - 0 0 1 connected 0-5460 [7->-b2]\n" +
		"b2 10.0.0.2:7000@17000 slave,fail a1 0 0 1 disconnected\nshort line\n")
	if len(list) != 2 || list[0].address != "10.0.0.1:7000" || !list[0].is("myself") || !list[0].slots ||
		!list[0].moving || list[1].master != "a1" || !list[1].is("fail") || list[1].slots || list[1].moving {
		t.Errorf("%+v", list)
	}
}

// The replies to the write and to WAIT decide about all answers of a batch.
func TestFencedOnALoop(t *testing.T) {
	for _, tc := range []struct {
		name, reply string
		ack         Ack
		kept        bool
	}{
		{"all", "+OK\r\n:2\r\n", AckReplica, true},
		{"one of two", "+OK\r\n:1\r\n", AckReplica, false},
		{"the write is refused", "-NOREPLICAS Not enough good replicas to write.\r\n:2\r\n", AckReplica, false},
		{"a replica", "+OK\r\n-ERR WAIT cannot be used with replica instances.\r\n", AckReplica, false},
		{"all disks", "+OK\r\n*2\r\n:1\r\n:2\r\n", AckDisk, true},
		{"not on its own disk", "+OK\r\n*2\r\n:0\r\n:2\r\n", AckDisk, false},
		{"one of two disks", "+OK\r\n*2\r\n:1\r\n:1\r\n", AckDisk, false},
		{"too old", "+OK\r\n-ERR unknown command 'WAITAOF'\r\n", AckDisk, false},
	} {
		f := newOnFake(t, Options{})
		f.e.conn.fence = newFence(tc.ack, "fence")
		f.e.conn.fence.replicas.Store(2)
		f.e.flight = f.e.conn.newBatch()
		calls := []*sentCall{f.send(exists(), 0), f.send(exists(), 0)}
		f.turn(0)
		asked := f.asked()
		if !strings.Contains(asked, "SET\r\n$5\r\nfence\r\n") || !strings.Contains(asked, "WAIT") ||
			!strings.Contains(asked, "\r\n$1\r\n2\r\n$3\r\n666\r\n") {
			t.Errorf("%s: asked %q", tc.name, asked)
		}
		f.answer(":1\r\n-ERR no\r\n" + tc.reply)
		if calls[0].answered(1) != tc.kept || calls[0].refused() == tc.kept || !calls[1].refused() {
			t.Errorf("%s: %+v, %+v", tc.name, calls[0], calls[1])
		}
		if len(f.e.lost) != 0 {
			t.Errorf("%s: the connection is dropped", tc.name)
		}
	}
}
