package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// What Redis keeps of carts.

const (
	cartBytesMax  = 1 << 10               // of a cart's list, whatever arrives
	cartWriteMax  = cartBytesMax + 128    // bytes of a command that writes one: its name, the key, the lifetime
	cartNameBytes = 16                    // characters of a cart ID that its key has
	cartPace      = 10 * time.Millisecond // between two looks
)

func cartKey(cart string) string { return "c_" + cart[:cartNameBytes] }

// cartKeys is the pattern of the keys of all carts of a user: a name is base64url of the user, 4 bytes, and
// 8 bytes that tell the carts apart. The sixth character has two bits of the user.
func cartKeys(user int) string {
	name := func(low byte) string {
		return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, uint32(user)), low))
	}
	var sixth strings.Builder
	for nonce := range 16 {
		sixth.WriteString(`\` + name(byte(nonce << 4))[5:6])
	}
	return "c_" + name(0)[:5] + "[" + sixth.String() + "]*"
}

// listBytes is a script: how many bytes a cart has, as a list of changes or as fields of a hash.
const listBytes = `
local kind, bytes = redis.call('TYPE', KEYS[1]).ok, 0
if kind == 'string' then return redis.call('STRLEN', KEYS[1]) end
if kind ~= 'hash' then return redis.call('MEMORY', 'USAGE', KEYS[1]) or 0 end
for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do bytes = bytes + #text end
return bytes`

// watchCart looks at what Redis keeps of a cart. The result ends that and is the most it saw.
func (s *stack) watchCart(ctx context.Context, cart string) (end func() int64) {
	largest := int64(0)
	stop := repeat(ctx, func() {
		bytes, err := s.redis.number(ctx, "EVAL", listBytes, "1", cartKey(cart))
		if err != nil && ctx.Err() == nil {
			s.breaks("cannot look at the cart: %v", err)
		}
		largest = max(largest, bytes)
	})
	return func() int64 {
		stop()
		return largest
	}
}

// repeat does it every cartPace until the result is called, which waits for the end of the last time.
func repeat(ctx context.Context, it func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			it()
			pause(ctx, cartPace)
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// judgeWrites looks through the append-only file for writes of the cart that are longer than its list may
// be.
func (s *stack) judgeWrites(cart string) error {
	path, err := s.redis.appendFile()
	if err != nil {
		return err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the append-only file: %w", err)
	}
	longest, writes, err := longestWrite(file, cartKey(cart))
	if err != nil {
		return err
	}
	s.note("the cart was written %d times, at most %d bytes", writes, longest)
	if writes == 0 {
		s.breaks("the append-only file has no write of %s: the drill proves nothing", cartKey(cart))
	}
	if longest > cartWriteMax {
		s.breaks("a write of the cart had %d bytes, the bound is %d", longest, cartWriteMax)
	}
	return nil
}

// longestWrite is the length of the longest command about a key in an append-only file, and how many there
// are.
func longestWrite(file []byte, key string) (longest, writes int, err error) {
	for at := 0; at < len(file); {
		words, length, err := readCommand(file[at:])
		if errors.Is(err, errCut) {
			break // it is being written
		}
		if err != nil {
			return 0, 0, fmt.Errorf("cannot read append-only file at byte %d: %w", at, err)
		}
		if slices.Contains(words[1:], key) {
			longest, writes = max(longest, length), writes+1
		}
		at += length
	}
	return longest, writes, nil
}
