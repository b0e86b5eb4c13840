package credentials

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx/pipeline"
)

// pipes connect a Hasher with ServeHashes in this process.
type pipes struct {
	io.Reader
	io.Writer
	close func()
}

func (p *pipes) Close() error { p.close(); return nil }

func startHere() (io.ReadWriteCloser, error) {
	in, question := io.Pipe()
	answer, out := io.Pipe()
	go func() { _ = ServeHashes(in, out) }()
	return &pipes{answer, question, func() { in.Close(); out.Close() }}, nil
}

// startStanding takes questions and answers none.
func startStanding() (io.ReadWriteCloser, error) {
	answer, out := io.Pipe()
	return &pipes{answer, io.Discard, func() { out.Close() }}, nil
}

// The other process computes what Hash does. After its end another one is started.
func TestHasher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		h := NewHasher(func(yields bool) (io.ReadWriteCloser, error) {
			if starts++; starts == 3 {
				return nil, errors.New("no process")
			}
			testkit.Same(t, "yields", yields, true)
			return startHere()
		})
		wantsHash(t, h)
		wantsHash(t, h)
		h.other.Close()
		_, err := h.Hash([]byte("password"), []byte(testSalt))
		testkit.Wants(t, "a process that has ended", err, pipeline.ErrUnavailable)
		wantsHash(t, h)
		h.Close()
		_, err = h.Hash([]byte("password"), []byte(testSalt))
		testkit.Wants(t, "a process that cannot start", err, pipeline.ErrUnavailable)
	})
}

// A process that yields and gets no time is followed by one that does not yield, for one hash. If that gets
// no time either, the hash fails.
func TestHasherWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []bool
		stands := false
		h := NewHasher(func(yields bool) (io.ReadWriteCloser, error) {
			if asked = append(asked, yields); yields || stands {
				return startStanding()
			}
			return startHere()
		})
		begin := time.Now()
		wantsHash(t, h)
		wantsHash(t, h)
		testkit.Same(t, "starts that yield", fmt.Sprint(asked), "[true false true false]")
		testkit.Same(t, "time of two hashes", time.Since(begin), 2*yieldMax)
		stands = true
		_, err := h.Hash([]byte("password"), []byte(testSalt))
		testkit.Wants(t, "no time at all", err, pipeline.ErrUnavailable)
		h.Close()
	})
}

const testSalt = "0123456789abcdef"

func wantsHash(t *testing.T, h *Hasher) {
	t.Helper()
	want, _ := Hash([]byte("password"), []byte(testSalt))
	if got, err := h.Hash([]byte("password"), []byte(testSalt)); err != nil || got != want {
		t.Errorf("hash %x, %v; want %x", got, err, want)
	}
}

// A stored hash is only its password's; without an account, and with a wrong password, as much is hashed.
func TestCheck(t *testing.T) {
	var hashed atomic.Int64
	q := NewQueue(func(password, salt []byte) ([hashBytes]byte, error) {
		hashed.Add(1)
		return testkit.FastHash(password, salt)
	})
	stored, err := q.Make([]byte("password"))
	testkit.Must(t, err)
	for _, test := range []struct {
		stored, password string
		want             error
	}{
		{stored, "password", nil}, {stored, "passwort", ErrWrongPassword}, {"", "password", ErrWrongPassword},
		{nobody, "password", ErrWrongPassword},
	} {
		before := hashed.Load()
		testkit.Wants(t, test.stored+" "+test.password, q.Check(test.stored, []byte(test.password)), test.want)
		testkit.Same(t, "hashes", hashed.Load()-before, int64(1))
	}
	if err := q.Check("$2b$10$x", []byte("password")); err == nil || errors.Is(err, ErrWrongPassword) {
		t.Errorf("another hash: %v", err)
	}
}

// One hash at a time; few wait, and among them only half are new passwords.
func TestQueueIsBounded(t *testing.T) { synctest.Test(t, testQueueIsBounded) }

func testQueueIsBounded(t *testing.T) {
	var now, most atomic.Int64
	hold := make(chan struct{})
	q := NewQueue(func([]byte, []byte) (hash [hashBytes]byte, err error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-hold
		now.Add(-1)
		return hash, nil
	})
	var running sync.WaitGroup
	for range waitingNew {
		running.Go(func() {
			if _, err := q.Make(nil); err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Wait()
	_, err := q.Make(nil)
	testkit.Wants(t, "one new password more", err, ErrBusy)
	for range waitingMax - waitingNew {
		running.Go(func() { testkit.Wants(t, "login", q.Check("", nil), ErrWrongPassword) })
	}
	synctest.Wait()
	testkit.Wants(t, "one login more", q.Check("", nil), ErrBusy)
	close(hold)
	running.Wait()
	testkit.Same(t, "hashes at once", most.Load(), int64(1))
}

func BenchmarkHash(b *testing.B) {
	for b.Loop() {
		_, _ = Hash([]byte("password"), []byte("0123456789abcdef"))
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/hash")
}
