package tokens_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/tokens"
)

const (
	mutations      = 10_000_000
	mutationsShort = 1_000_000 // with -short, and under -race, which is ten times slower
	victims        = 64        // users whose strings are mutated
)

// kind is a kind of string.
type kind struct {
	mint    func(k *tokens.Keys, dst []byte, user, session uint32, expires time.Time) []byte
	accepts func(k *tokens.Keys, text []byte, now time.Time) bool
	ends    bool // it is refused when it has expired
}

var kinds = [...]kind{
	{(*tokens.Keys).AppendAccess, func(k *tokens.Keys, text []byte, now time.Time) bool {
		_, _, _, ok := k.Access(text, now)
		return ok
	}, true},
	{(*tokens.Keys).AppendOperator, func(k *tokens.Keys, text []byte, now time.Time) bool {
		_, _, _, ok := k.Operator(text, now)
		return ok
	}, true},
	{(*tokens.Keys).AppendTicket, func(k *tokens.Keys, text []byte, _ time.Time) bool {
		_, _, _, ok := k.Ticket(text)
		return ok
	}, false},
	{func(k *tokens.Keys, dst []byte, user, session uint32, _ time.Time) []byte {
		return k.AppendCart(dst, user, uint64(session))
	}, func(k *tokens.Keys, text []byte, _ time.Time) bool {
		_, _, ok := k.Cart(text)
		return ok
	}, false},
}

// mint holds strings of each kind that a forger may have seen: valid ones of some users, expired ones, and
// ones under another secret.
type mint struct {
	keys                    *tokens.Keys
	now                     time.Time
	valid, expired, strange [len(kinds)][victims][]byte
	minted                  [len(kinds)]map[string]bool
}

func newMint(tb testing.TB) *mint {
	tb.Helper()
	newKeys := func(letter string) *tokens.Keys {
		k, err := tokens.New("aaaaaaaa", bytes.Repeat([]byte(letter), tokens.SecretMin))
		if err != nil {
			tb.Fatal(err)
		}
		return k
	}
	m := &mint{keys: newKeys("a"), now: time.Unix(1_800_000_000, 0)}
	strange := newKeys("b")
	for k, kind := range kinds {
		m.minted[k] = map[string]bool{}
		for i := range victims {
			user, session := uint32(i+1), uint32(i)
			m.valid[k][i] = kind.mint(m.keys, nil, user, session, m.now.Add(time.Hour))
			m.minted[k][string(m.valid[k][i])] = true
			m.expired[k][i] = kind.mint(m.keys, nil, user, session, m.now.Add(-time.Duration(i)*time.Second))
			if !kind.ends {
				m.minted[k][string(m.expired[k][i])] = true
			}
			m.strange[k][i] = kind.mint(strange, nil, user, session, m.now.Add(time.Hour))
		}
	}
	return m
}

// forger makes wrong strings of the mint's right ones.
type forger struct {
	*mint
	dice *rand.Rand
	kind int // that it forges
	text []byte
	raw  []byte
}

// right is a string of a random user; other is one of another kind.
func (f *forger) right() []byte { return f.pick(&f.valid[f.kind]) }
func (f *forger) other() []byte {
	return f.pick(&f.valid[(f.kind+1+f.dice.IntN(len(kinds)-1))%len(kinds)])
}

func (f *forger) pick(list *[victims][]byte) []byte {
	f.text = append(f.text[:0], list[f.dice.IntN(victims)]...)
	return f.text
}

// accepts reports whether the keys accept the forged text.
func (f *forger) accepts(text []byte) bool { return kinds[f.kind].accepts(f.keys, text, f.now) }

func (f *forger) isRight(text []byte) bool { return f.minted[f.kind][string(text)] }

// alphabet is what tokens are made of.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (f *forger) character() byte { return alphabet[f.dice.IntN(len(alphabet))] }
func (f *forger) place() int      { return f.dice.IntN(tokens.Length) }

// forgeries are the ways to make one. A few of their strings may by chance be right ones, which do not
// count.
var forgeries = []struct {
	name string
	make func(f *forger) []byte
}{
	{"one bit flipped", func(f *forger) []byte { return f.flip(1) }},
	{"some bits flipped", func(f *forger) []byte { return f.flip(2 + f.dice.IntN(8)) }},
	{"one character changed", func(f *forger) []byte {
		text := f.right()
		text[f.place()] = f.character()
		return text
	}},
	{"one byte changed", func(f *forger) []byte {
		text := f.right()
		text[f.place()] = byte(f.dice.Uint32())
		return text
	}},
	{"two characters exchanged", func(f *forger) []byte {
		text, i, j := f.right(), f.place(), f.place()
		text[i], text[j] = text[j], text[i]
		return text
	}},
	{"end replaced", func(f *forger) []byte {
		text := f.right()
		for i := f.place(); i < len(text); i++ {
			text[i] = f.character()
		}
		return text
	}},
	{"truncated", func(f *forger) []byte { return f.right()[:f.place()] }},
	{"truncated before", func(f *forger) []byte { return f.right()[1+f.place():] }},
	{"extended", func(f *forger) []byte {
		text := f.right()
		for range 1 + f.place() {
			text = append(text, f.character())
		}
		return text
	}},
	{"shifted", func(f *forger) []byte { return append(f.right()[1:], f.character()) }},
	{"head of another user", func(f *forger) []byte {
		head := bytes.Clone(f.right()[:1+f.dice.IntN(tokens.Length-1)])
		return append(head, f.right()[len(head):]...)
	}},
	{"expired", func(f *forger) []byte {
		if !kinds[f.kind].ends { // then it is one more of another kind
			return f.other()
		}
		return f.pick(&f.expired[f.kind])
	}},
	{"other secret", func(f *forger) []byte { return f.pick(&f.strange[f.kind]) }},
	{"other kind", func(f *forger) []byte { return f.other() }},
	{"random", func(f *forger) []byte {
		text := f.right()
		for i := range text {
			text[i] = f.character()
		}
		return text
	}},
}

// flip changes n bits of the bytes that the text encodes.
func (f *forger) flip(n int) []byte {
	text := f.right()
	f.raw, _ = base64.RawURLEncoding.AppendDecode(f.raw[:0], text)
	for range n {
		f.raw[f.dice.IntN(len(f.raw))] ^= 1 << f.dice.IntN(8)
	}
	f.text = base64.RawURLEncoding.AppendEncode(f.text[:0], f.raw)
	return f.text
}

// run makes forgeries, one way after the other, until n were refused, and returns the number of each.
func (f *forger) run(n int) (refused []int, err error) {
	refused = make([]int, len(forgeries))
	for i := range 2 * n { // twice as many: some come out right
		way := i % len(forgeries)
		f.kind = i / len(forgeries) % len(kinds)
		text := forgeries[way].make(f)
		if !f.accepts(text) {
			refused[way]++
			if n--; n == 0 {
				return refused, nil
			}
		} else if !f.isRight(text) {
			return nil, fmt.Errorf("%s: %q is accepted as kind %d", forgeries[way].name, text, f.kind)
		}
	}
	return nil, fmt.Errorf("%d forgeries too few were refused", n)
}

// Ten million wrong strings, of each kind in turn, and not one is accepted.
func TestMutationsAreRefused(t *testing.T) {
	t.Parallel()
	total, m := mutations, newMint(t)
	if testing.Short() || testkit.Race {
		total = mutationsShort
	}
	for k, kind := range kinds {
		for text := range m.minted[k] {
			if !kind.accepts(m.keys, []byte(text), m.now) {
				t.Fatalf("kind %d: the right string %s is refused", k, text)
			}
		}
	}
	forgers := runtime.GOMAXPROCS(0)
	sums := make([][]int, forgers)
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			f := &forger{mint: m, dice: rand.New(rand.NewPCG(uint64(i), 0))}
			var err error
			if sums[i], err = f.run((total + forgers - 1) / forgers); err != nil {
				t.Errorf("forger %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for way, forgery := range forgeries {
		sum := 0
		for _, refused := range sums {
			sum += refused[way]
		}
		if least := total / len(forgeries) * 8 / 10; sum < least {
			t.Errorf("%s: %d were refused, want at least %d", forgery.name, sum, least)
		}
	}
}

// A forger who measures must not learn how much of a MAC was right. A wrong first character makes the
// whole MAC wrong, a wrong last one only its last byte: both must take as long. The least time of many
// batches is free of other work of the machine: it differs by 0.1% to 2% here, whereas a comparison that
// stops at the first wrong byte makes 6%, every time.
func TestRefusalTakesConstantTime(t *testing.T) {
	if testkit.Race {
		t.Log("not measured under -race")
		return
	}
	const tolerance, attempts = 1.03, 10
	m := newMint(t)
	for kind := range kinds {
		f := &forger{mint: m, dice: rand.New(rand.NewPCG(1, 2)), kind: kind}
		first, last := bytes.Clone(f.right()), bytes.Clone(f.text)
		first[0], last[len(last)-1] = another(first[0]), another(last[len(last)-1])
		if f.accepts(first) || f.accepts(last) {
			t.Fatal("a wrong string is accepted")
		}
		var ratios []float64
		for range attempts {
			early, late := f.leastTimes(first, last)
			ratio := max(float64(early), float64(late)) / min(float64(early), float64(late))
			if ratios = append(ratios, ratio); ratio <= tolerance {
				break
			}
		}
		if ratios[len(ratios)-1] > tolerance {
			t.Errorf("kind %d: times differ by factors of %.3f in %d attempts, want at most %v", kind, ratios,
				attempts, tolerance)
		}
	}
}

// another returns a character that is not c.
func another(c byte) byte {
	if c == 'A' {
		return 'B'
	}
	return 'A'
}

// leastTimes measures batches of checks of a and of b in turn and returns the shortest of each.
func (f *forger) leastTimes(a, b []byte) (leastA, leastB time.Duration) {
	const batches, checks = 200, 1000
	measure := func(text []byte, least time.Duration) time.Duration {
		begin := time.Now()
		for range checks {
			f.accepts(text)
		}
		if took := time.Since(begin); least == 0 || took < least {
			return took
		}
		return least
	}
	for range batches {
		leastA, leastB = measure(a, leastA), measure(b, leastB)
	}
	return leastA, leastB
}
