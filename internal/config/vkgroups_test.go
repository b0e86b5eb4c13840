package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A bot needs its secrets, but a worker, which takes them from the handover, reads the flags without them.
func TestVKGroupOfFlags(t *testing.T) {
	clearEnvironment(t)
	for args, missing := range map[string]string{
		"": "", "-repeats": "", "-repeats -vk-confirmation c -vk-secret s -vk-token t": "",
		"-repeats -vk-confirmation c":              "-vk-secret (VK_SECRET) and -vk-token (VK_TOKEN)",
		"-repeats -vk-confirmation c -vk-token t":  "-vk-secret (VK_SECRET)",
		"-repeats -vk-confirmation c -vk-secret s": "-vk-token (VK_TOKEN)",
	} {
		want := "<nil>"
		if missing != "" {
			want = "-vk-confirmation (VK_CONFIRMATION) is set without " + missing +
				"; set all three, or none for no bot"
		}
		if _, err := parse(t, strings.Fields(args)...).VKGroups(); fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// Several groups come from a file; what is wrong with it is named by file and line, without a secret.
func TestVKGroupsFile(t *testing.T) {
	clearEnvironment(t)
	file := filepath.Join(t.TempDir(), "groups.csv")
	c := parse(t, "-repeats", "-vk-groups", file)
	const header = "group_id,confirmation,secret,token\n"
	read := func(text string) ([]VKGroup, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return c.VKGroups()
	}
	groups, err := read(header + "7,c7,s7,t7\r\n\n8,c8,\"s,8\",t8\n")
	want := []VKGroup{{7, "c7", "s7", "t7"}, {8, "c8", "s,8", "t8"}}
	if !slices.Equal(groups, want) || err != nil {
		t.Errorf("read %v, %v; want %v", groups, err, want)
	}
	const fields = ":2: a group has the 4 fields group_id,confirmation,secret,token, and none is empty"
	for text, want := range map[string]string{
		"":                            " has no groups; leave -vk-groups out for no bot",
		header:                        " has no groups; leave -vk-groups out for no bot",
		"7,c,s,t\n":                   ":1: the header must be group_id,confirmation,secret,token",
		header + "7,c,s,hidden":       " ends in the middle of a line; end it with a line break if it is whole",
		header + "7,c,hidden\n":       fields,
		header + "7,c,,hidden\n":      fields,
		header + "club7,c,hidden,t\n": ":2: group_id must be a number above 0, as VK shows it",
		header + "7,c,s,t\n7,c,s,t\n": ":3: group 7 is there twice",
		header + "7,c,\"hidden\n":     ":2: extraneous or missing \" in quoted-field",
	} {
		if _, err := read(text); err == nil || err.Error() != file+want {
			t.Errorf("%q: %v, want %s", text, err, file+want)
		}
	}
	os.Remove(file)
	if _, err := c.VKGroups(); err == nil || !strings.HasPrefix(err.Error(), "cannot read -vk-groups: ") {
		t.Errorf("no file: %v", err)
	}
}
