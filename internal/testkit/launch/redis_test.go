package launch

import (
	"bufio"
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
		if (err == nil) != (test.fault == "") || err == nil && got != test.want ||
			err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%q: %q, %v; want %q, %q", test.reply, got, err, test.want, test.fault)
		}
	}
}
