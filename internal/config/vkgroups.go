package config

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// VKGroup is a group of VK that a bot answers for.
type VKGroup struct {
	ID                   int64 // 0 for the group of the flags, which answers for any group
	Confirmation, Secret string
	Token                string `json:"-"` // for the supervisor only
}

// groupsHeader is the first line of -vk-groups.
var groupsHeader = []string{"group_id", "confirmation", "secret", "token"}

// HasBot reports whether there is a VK bot.
func (c *repeatsFlags) HasBot() bool { return c.VKConfirmation != "" || c.groups != "" }

// VKGroupsFile is the file that SIGHUP reads again, "" without a file.
func (c *repeatsFlags) VKGroupsFile() string { return c.groups }

// VKGroups reads the groups of the bot. Only the supervisor calls it: workers get the groups in the
// handover.
func (c *repeatsFlags) VKGroups() ([]VKGroup, error) {
	switch {
	case c.groups != "":
		text, err := os.ReadFile(c.groups)
		if err != nil {
			return nil, fmt.Errorf("cannot read -vk-groups: %w", err)
		}
		return parseVKGroups(c.groups, text)
	case c.VKConfirmation == "":
		return nil, nil
	}
	var missing []string
	if c.VKSecret == "" {
		missing = append(missing, "-vk-secret (VK_SECRET)")
	}
	if c.VKToken == "" {
		missing = append(missing, "-vk-token (VK_TOKEN)")
	}
	if missing != nil {
		return nil, fmt.Errorf("-vk-confirmation (VK_CONFIRMATION) is set without %s; set all three, or none for "+
			"no bot", strings.Join(missing, " and "))
	}
	return []VKGroup{{0, c.VKConfirmation, c.VKSecret, c.VKToken}}, nil
}

// parseVKGroups reads the lines of -vk-groups. Errors name file and line, and show no secret.
func parseVKGroups(file string, text []byte) (groups []VKGroup, err error) {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("%s ends in the middle of a line; end it with a line break if it is whole", file)
	}
	lines := csv.NewReader(bytes.NewReader(text))
	lines.FieldsPerRecord = -1
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			return nil, fmt.Errorf("%s:%d: %w", file, broken.StartLine, broken.Err)
		}
		line, _ := lines.FieldPos(0)
		if groups == nil {
			if !slices.Equal(fields, groupsHeader) {
				return nil, fmt.Errorf("%s:%d: the header must be %s", file, line, strings.Join(groupsHeader, ","))
			}
			groups = []VKGroup{}
			continue
		}
		if len(fields) != len(groupsHeader) || slices.Contains(fields, "") {
			return nil, fmt.Errorf("%s:%d: a group has the %d fields %s, and none is empty", file, line,
				len(groupsHeader), strings.Join(groupsHeader, ","))
		}
		id, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || id < 1 {
			return nil, fmt.Errorf("%s:%d: group_id must be a number above 0, as VK shows it", file, line)
		}
		if slices.ContainsFunc(groups, func(g VKGroup) bool { return g.ID == id }) {
			return nil, fmt.Errorf("%s:%d: group %d is there twice", file, line, id)
		}
		groups = append(groups, VKGroup{id, fields[1], fields[2], fields[3]})
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%s has no groups; leave -vk-groups out for no bot", file)
	}
	return groups, nil
}
