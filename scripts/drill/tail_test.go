package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// command writes one command as Redis does in its append-only file.
func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

func TestSplitOrders(t *testing.T) {
	begin := command("SELECT", "0") + command("SET", "c_a", "1:1", "EX", "60")
	two := command("MULTI") + command("HSET", "stock", "1", "9") + command("SET", "o_2", "1:1,") +
		command("HSET", "stock", "1", "8") + command("SET", "o_3", "1:1,") + command("EXEC")
	single := command("MULTI") + command("SET", "o_4", "1:1,") + command("EXEC")
	file := begin + two + single
	for _, test := range []struct {
		file          string
		keep          int
		survive, lost string
	}{
		{file, len(file), "2 3 4", ""},
		{file, len(file) - 1, "2 3", "4"},
		{file, len(begin + two), "2 3", "4"},
		{file, len(begin+two) - 1, "", "2 3 4"}, // a transaction is all or nothing
		{file, len(begin), "", "2 3 4"},
		{file[:len(file)-3], len(file) - 3, "2 3", "4"}, // the file ends inside of EXEC
		{begin, len(begin), "", ""},
		{"", 0, "", ""},
	} {
		survive, lost := splitOrders([]byte(test.file), test.keep)
		if strings.Join(survive, " ") != test.survive || strings.Join(lost, " ") != test.lost {
			t.Errorf("%d of %d bytes: %v survive, %v lost; want %s and %s", test.keep, len(test.file), survive,
				lost, test.survive, test.lost)
		}
	}
}

// A cut falls inside of a command, behind an order of the tail, before its transaction has ended.
func TestChooseCut(t *testing.T) {
	var file strings.Builder
	var ends []int
	for user := range 40 {
		file.WriteString(command("MULTI") + command("SET", fmt.Sprint("o_", user), "1:1,"))
		ends = append(ends, file.Len())
		file.WriteString(command("EXEC"))
	}
	whole := []byte(file.String())
	dice := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		keep := chooseCut(whole, dice)
		behind := slices.IndexFunc(ends, func(end int) bool { return end < keep && keep < end+len(execute) })
		if behind < 0 || keep < file.Len()*3/4 {
			t.Fatalf("cut at %d of %d bytes", keep, file.Len())
		}
		if _, lost := splitOrders(whole, keep); len(lost) != len(ends)-behind {
			t.Fatalf("%d orders lost, want those from number %d on", len(lost), behind)
		}
	}
}
