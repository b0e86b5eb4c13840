package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	for _, test := range []struct{ reply, want, fault string }{
		{"+PONG\r\n", "PONG", ""},
		{":12\r\n", "12", ""},
		{"$5\r\nab\r\nc\r\n", "ab\r\nc", ""},
		{"-LOADING wait\r\n", "", "Redis refuses: LOADING wait"},
		{"$-1\r\n", "", "cannot read a reply"},
		{"*1\r\n", "", "cannot read a reply"},
		{"\r\n", "", "empty line"},
		{"+PO", "", "EOF"},
		{"$5\r\nab", "", "unexpected EOF"},
	} {
		got, err := readReply(bufio.NewReader(strings.NewReader(test.reply)))
		if (err == nil) != (test.fault == "") || err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%q: %q, %v; want %q, %q", test.reply, got, err, test.want, test.fault)
		}
	}
}

// The clock drill stands on one line of package time: this fails with the first Go that has it no more.
func TestClockCanBeShifted(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	if shifted, found := shiftClock(string(source)); !found || len(shifted) != len(source)+len(clockJumped)-len(readsClock) {
		t.Error("package time of this Go reads its clock in another way; see clock.go")
	}
	if _, found := shiftClock("package time"); found {
		t.Error("a clock is found where there is none")
	}
}
