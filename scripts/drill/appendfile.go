package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

var errCut = errors.New("the append-only file ends inside of a command")

const (
	cutMax = 64 << 10 // bytes: the longest tail that is cut, some 200 orders
	// execBytes is the length of EXEC, the shortest command in a transaction: a cut fewer bytes behind a
	// command is inside the next command.
	execBytes = len("*1\r\n$4\r\nEXEC\r\n")
)

// history is the orders in an append-only file.
type history struct {
	bytes  int
	orders []appended
}

// appended is one order in the file.
type appended struct {
	user string
	end  int // offset behind the command that makes it
	kept int // offset of the end of its transaction: a longer file keeps the order
}

// readOrders reads an append-only file, up to a command that was being written when Redis was killed.
func readOrders(file []byte) (h history, err error) {
	h.bytes = len(file)
	inside, complete := false, 0 // complete: orders of transactions that have ended
	for at := 0; at < len(file); {
		words, length, err := readCommand(file[at:])
		if errors.Is(err, errCut) {
			break
		}
		if err != nil {
			return h, fmt.Errorf("cannot read append-only file at byte %d: %w", at, err)
		}
		at += length
		switch {
		case words[0] == "MULTI":
			inside = true
		case words[0] == "EXEC":
			inside = false
		case words[0] == "SET" && len(words) == 3 && strings.HasPrefix(words[1], "o_"):
			h.orders = append(h.orders, appended{user: strings.TrimPrefix(words[1], "o_"), end: at,
				kept: math.MaxInt})
		}
		for ; !inside && complete < len(h.orders); complete++ {
			h.orders[complete].kept = at
		}
	}
	return h, nil
}

// chooseCut chooses an offset in the tail where a crash may have ended the file: inside a command, behind an
// order of an open transaction. A cut elsewhere is easier to survive.
func (h history) chooseCut(dice *rand.Rand) int {
	tail := slices.IndexFunc(h.orders, func(o appended) bool { return o.end > h.bytes-min(h.bytes/4, cutMax) })
	if tail < 0 {
		return h.bytes // no order in the tail
	}
	return h.orders[tail+dice.IntN(len(h.orders)-tail)].end + 1 + dice.IntN(execBytes-1)
}

// split returns the users with an order in the first keep bytes, and the users with an order in the lost
// rest.
func (h history) split(keep int) (survive, lost []string) {
	for _, o := range h.orders {
		if o.kept <= keep {
			survive = append(survive, o.user)
		} else {
			lost = append(lost, o.user)
		}
	}
	return survive, lost
}

// readCommand reads one command of the Redis protocol, an array of bulk strings such as *1, $4, EXEC, each
// with the end of its line.
func readCommand(b []byte) (words []string, length int, err error) {
	number := func(kind string) (n int) {
		line, _, whole := bytes.Cut(b[length:], []byte("\r\n"))
		if !whole {
			err = errCut
			return 0
		}
		text, found := strings.CutPrefix(string(line), kind)
		if n, err = strconv.Atoi(text); !found || err != nil || n < 0 {
			err = fmt.Errorf("%q where %s and a number is due", line, kind)
		}
		length += len(line) + len("\r\n")
		return n
	}
	count := number("*")
	if err == nil && count == 0 {
		err = errors.New("a command without words")
	}
	for err == nil && len(words) < count {
		size := number("$")
		end := length + size + len("\r\n")
		switch {
		case err != nil:
		case end > len(b):
			err = errCut
		default:
			words, length = append(words, string(b[length:length+size])), end
		}
	}
	return words, length, err
}
