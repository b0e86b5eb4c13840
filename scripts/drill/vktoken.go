package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"flashsale/internal/testkit"
)

// The groups of the bot: VK takes the token of one, and refuses that of the other.
const (
	groupsHeader = "group_id,confirmation,secret,token\n"
	groupsBefore = groupsHeader + "7,c," + botSecret + ",revoked\n8,c," + botSecret + ",good\n"
	groupsAfter  = groupsHeader + "7,c," + botSecret + ",good\n8,c," + botSecret + ",good\n"
)

// vkAPI is VK's API: it takes messages with the good token and refuses all others.
type vkAPI struct {
	*httptest.Server
	groups string // file of the servers

	mu    sync.Mutex
	taken map[string]bool // peers that got a message
}

// startVK starts it and writes the groups for the servers' -vk-groups.
func startVK(folder string) (*vkAPI, error) {
	vk := &vkAPI{groups: filepath.Join(folder, "groups.csv"), taken: map[string]bool{}}
	if err := os.WriteFile(vk.groups, []byte(groupsBefore), 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the groups: %w", err)
	}
	vk.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("access_token") != "good" {
			fmt.Fprint(w, `{"error":{"error_code":5,"error_msg":"User authorization failed: invalid access_token"}}`)
			return
		}
		vk.mu.Lock()
		defer vk.mu.Unlock()
		vk.taken[r.PostFormValue("peer_id")] = true
		fmt.Fprint(w, `{"response":1}`)
	}))
	return vk, nil
}

// flags are those of a server with the bot.
func (vk *vkAPI) flags() []string {
	return []string{"-repeats", "-vk-groups", vk.groups, "-vk-api", vk.URL}
}

func (vk *vkAPI) took(peer string) bool {
	vk.mu.Lock()
	defer vk.mu.Unlock()
	return vk.taken[peer]
}

// tokenRefused has VK refuse the token of one group. The replies of the other go on meanwhile; those that
// wait go out when SIGHUP brings a new token.
func tokenRefused(ctx context.Context, s *stack, _ *rand.Rand) error {
	bot := callerOf(s.servers[0].address, "")
	for i, peer := range []string{"107", "108"} {
		r, err := bot.Do("POST", "/vk/callback", fmt.Sprintf(`{"type":"message_new","group_id":%d,"event_id":"e",`+
			`"secret":%q,"object":{"message":{"peer_id":%s,"text":"hi"}}}`, 7+i, botSecret, peer))
		if err != nil || r.Body != "ok" {
			return fmt.Errorf("cannot send a message to the bot: %d %s, %v", r.Status, r.Body, err)
		}
	}
	s.awaitAlert(ctx)
	if !s.vk.took("108") || s.vk.took("107") {
		s.breaks("reply of the group with a good token: %v, with a refused one: %v", s.vk.took("108"),
			s.vk.took("107"))
	}
	if err := os.WriteFile(s.vk.groups, []byte(groupsAfter), 0o600); err != nil {
		return fmt.Errorf("cannot write the groups: %w", err)
	}
	if err := s.servers[0].process().Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return testkit.Await(ctx, "reply that waited for a new token", refusalMax, func() bool {
		return s.vk.took("107")
	})
}
