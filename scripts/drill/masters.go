package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// Faults of a Redis Cluster.

// manyTimes makes a fault of one slice's master after the other, each in a cluster that is whole
// again. The other slices must not notice.
func manyTimes(short, long int, makes func(c *masterFault) error) fault {
	return func(ctx context.Context, s *stack, dice *rand.Rand) error {
		for range s.times(short, long) {
			slot := s.cluster.slots[dice.IntN(len(s.cluster.slots))]
			master, replicas, err := s.cluster.serving(slot)
			if err != nil {
				return err
			}
			fault := &masterFault{ctx, s, s.cluster, dice, slot, master, replicas}
			if err := s.sparing(slot, func() error { return makes(fault) }); err != nil {
				return err
			}
			if err := s.awaitInStep(ctx); err != nil {
				return err
			}
			background.Pause(ctx, moment(dice, time.Second))
		}
		return nil
	}
}

// masterFault is what a fault of a master needs to know.
type masterFault struct {
	context.Context
	*stack
	c        *cluster
	dice     *rand.Rand
	slot     int
	master   *launch.ClusterNode
	replicas []*launch.ClusterNode
}

// promoted awaits a new master and service. rejoins brings back the old master: orders wait for replicas, so
// the new master serves only then.
func (f *masterFault) promoted(rejoins func(master *launch.ClusterNode) error) error {
	master, err := f.c.awaitPromotion(f, f.slot, f.master)
	if err != nil {
		return err
	}
	if err := rejoins(master); err != nil {
		return err
	}
	return f.measureResumption(f)
}

// returns starts the old master again: it has its data and becomes a replica.
func (f *masterFault) returns(*launch.ClusterNode) error { return f.master.Start(f) }

// masterKilled kills a master. Every other one loses its data too and comes back as a new node. That must
// start only after the promotion: a replica copies whatever serves at the address of its master.
func masterKilled(f *masterFault) error {
	f.master.Kill()
	if f.dice.IntN(2) == 0 {
		return f.promoted(f.returns)
	}
	return f.promoted(func(master *launch.ClusterNode) error {
		return errors.Join(f.master.Wipe(), f.c.Replace(f, f.master, master))
	})
}

// masterEmpty lets a master come back empty, though it knows the cluster still: its replica copies the empty
// data. Then the operator puts the data back.
func masterEmpty(f *masterFault) error {
	data := filepath.Join(filepath.Dir(f.master.Socket), "appendonlydir")
	f.master.Kill()
	if err := errors.Join(os.Rename(data, data+".away"), f.master.Start(f)); err != nil {
		return err
	}
	if err := f.awaitRefusals(f); err != nil {
		return err
	}
	f.stand(f, 2*time.Second)
	const script = "return #redis.call('KEYS', '[^f]*')" // all but the fence of -ack
	keys, err := f.master.Ask("EVAL", script, "0")
	if err != nil || f.c.Master(f.slot) == f.master && keys != "0" {
		f.breaks("an empty master has got %s keys (%v)", keys, err)
	}
	f.master.Kill()
	for _, replica := range f.replicas { // none may be elected with the empty data
		replica.Kill()
	}
	if err := errors.Join(os.RemoveAll(data), os.Rename(data+".away", data), f.master.Start(f)); err != nil {
		return err
	}
	for _, replica := range f.replicas {
		if err := replica.Start(f); err != nil {
			return err
		}
	}
	return f.measureResumption(f)
}

func replicaKilled(f *masterFault) error {
	replica := f.replicas[0]
	replica.Kill()
	background.Pause(f, f.lasting(2*time.Second, 5*time.Second))
	if err := errors.Join(replica.Wipe(), f.c.Replace(f, replica, f.master)); err != nil {
		return err
	}
	if err := f.awaitInStep(f); err != nil {
		return err
	}
	return f.measureResumption(f)
}

// replicaSyncs kills a master while its only replica, which has lost its data, waits for a copy. The replica
// must not be elected; the master comes back with its data.
func replicaSyncs(f *masterFault) error {
	replica := f.replicas[0]
	if _, err := f.master.Ask("CONFIG", "SET", "repl-diskless-sync-delay", "60"); err != nil {
		return err
	}
	replica.Kill()
	if err := errors.Join(replica.Wipe(), f.c.Replace(f, replica, f.master)); err != nil {
		return err
	}
	background.Pause(f, moment(f.dice, time.Second))
	f.master.Kill()
	background.Pause(f, f.lasting(4*time.Second, 15*time.Second)) // long enough for an election
	if f.c.Master(f.slot) != nil {
		f.breaks("a replica without data was elected")
	}
	if err := f.master.Start(f); err != nil {
		return err
	}
	return f.measureResumption(f)
}

// replicaLags lets the replica that lags win: the master and the other replica are killed.
func replicaLags(f *masterFault) error {
	lags, other := f.replicas[0], f.replicas[1]
	if err := lags.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	// What was sent to it already would still reach it.
	if _, err := f.master.Ask("CLIENT", "KILL", "TYPE", "replica"); err != nil {
		return err
	}
	background.Pause(f, 2*time.Second+moment(f.dice, time.Second))
	f.master.Kill()
	other.Kill()
	if err := lags.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	return f.promoted(func(*launch.ClusterNode) error { return errors.Join(other.Start(f), f.master.Start(f)) })
}

// masterCut cuts the servers off from a master, while the cluster is whole.
func masterCut(f *masterFault) error {
	way := f.c.wires[slices.Index(f.c.Nodes, f.master)].clients
	way.SetAmong(launch.BlackHole, launch.ClientsAt("127.0.0.1")) // nodes connect from other addresses
	f.stand(f, redisTimeout+time.Second)
	way.Set(launch.Passes)
	return f.measureResumption(f)
}

// masterApart cuts a master off from the other nodes and from all servers but one, until a replica is master
// and every server has found it.
func masterApart(f *masterFault) error {
	heal, err := f.c.partition(f.master, f.servers[f.dice.IntN(len(f.servers)-1)])
	if err != nil {
		return err
	}
	_, err = f.c.awaitPromotion(f, f.slot, f.master)
	heal() // the new master has no replica until the old one is back
	if err != nil {
		return err
	}
	return f.measureResumption(f)
}

// pauseHalfDone lets root pause the sale while the master of one slice takes no writes. The slice follows
// later.
func pauseHalfDone(ctx context.Context, s *stack, dice *rand.Rand) error {
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	for range s.times(1, 5) {
		slot := s.cluster.slots[1+dice.IntN(len(s.cluster.slots)-1)] // not the home slice, which decides
		master, _, err := s.cluster.serving(slot)
		if err != nil {
			return err
		}
		const replicas = "min-replicas-to-write"
		if err := s.sparing(slot, func() error {
			if _, err := master.Ask("CONFIG", "SET", replicas, "1"); err != nil {
				return err
			}
			err := s.changeState(ctx, root, "paused")
			if !client.IsRefused(err, http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE") {
				s.breaks("a pause that one slice does not take was answered %v", err)
			}
			s.stand(ctx, 2*time.Second)
			_, err = master.Ask("CONFIG", "SET", replicas, "0")
			return err
		}); err != nil {
			return err
		}
		if err := errors.Join(s.measureResumption(ctx), s.changeState(ctx, root, "open")); err != nil {
			return err
		}
	}
	return nil
}

// allRestarted kills all masters at once and starts them again.
func allRestarted(ctx context.Context, s *stack, dice *rand.Rand) error {
	for range s.times(2, 10) {
		var masters []*launch.ClusterNode
		for _, slot := range s.cluster.slots {
			master, _, err := s.cluster.serving(slot)
			if err != nil {
				return err
			}
			masters = append(masters, master)
		}
		for _, master := range masters {
			master.Kill()
		}
		background.Pause(ctx, moment(dice, 3*time.Second))
		for _, master := range masters {
			if err := master.Start(ctx); err != nil {
				return err
			}
		}
		if err := s.measureResumption(ctx); err != nil {
			return err
		}
		if err := s.awaitInStep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// moversKilled kills all workers of a server again and again, while slices have so little that every other
// order waits for a transfer.
func moversKilled(ctx context.Context, s *stack, dice *rand.Rand) error {
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	defer root.HangUp()
	restock := func(round, pieces int) error {
		root.IdempotencyKey = fmt.Sprintf("drill-%d", round)
		path := fmt.Sprintf("/admin/foods/%d/stock", 1+round%foods)
		return s.byRoot(ctx, "restock", func() error {
			return root.Call("POST", path, fmt.Sprintf(`{"add":%d}`, pieces), nil)
		})
	}
	round := 0
	for range s.times(10, 100) {
		for end := time.Now().Add(moment(dice, 2*time.Second)); time.Now().Before(end); round++ {
			if err := restock(round, 1+dice.IntN(restockMost)); err != nil {
				return err
			}
		}
		for _, worker := range s.servers[1+dice.IntN(len(s.servers)-1)].workers() {
			_ = syscall.Kill(worker, syscall.SIGKILL) // the only error: it has ended
		}
	}
	for range foods { // something for the buyers after the fault
		if err := restock(round, 100); err != nil {
			return err
		}
		round++
	}
	return nil
}
