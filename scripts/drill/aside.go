package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"flashsale/internal/background"
	"flashsale/internal/serve/listener/certtest"
	"flashsale/internal/testkit"
	"flashsale/internal/testkit/client"
	"flashsale/internal/testkit/launch"
)

// asides are two servers of the sale that the load does not use, so that their faults do not disturb it:
// a server with every room, over TLS, and one with few connections and a slow way to Redis.
type asides struct {
	s       *stack
	folder  string // of the certificate and of the groups of the bot
	site    *site
	network *launch.Proxy // between the crowded server and Redis

	rooms, crowded *server
	trust          *tls.Config // in the certificate of the server with the rooms
	token          string      // of root
}

const (
	asideRooms, asideCrowded = 2, 3 // numbers of the servers

	crowdedMax     = 1000 // -max-conns
	crowdedTimeout = 300 * time.Millisecond
	crowdedDelay   = 200 * time.Millisecond // of each reply of Redis: too long for a call behind two batches
	crowdedPause   = 50 * time.Millisecond  // of a client after a reply: so short that two batches wait
	listRefresh    = 2 * time.Second
	askedEvent     = "asked" // a program asks for it more often than its rule allows

	listRows                = "PASSP_SERIES,PASSP_NUMBER\n4509,123456\n"
	botSecret               = "key"
	goodGroup, refusedGroup = 8, 7 // of the bot: VK accepts the token of goodGroup only
	goodPeer, refusedPeer   = 108, 107
	groupsText              = "group_id,confirmation,secret,token\n" +
		"7,c," + botSecret + ",%s\n8,c," + botSecret + ",good\n"
)

// startAsides starts both servers with whatever their rooms need, and returns once they serve.
func (s *stack) startAsides(ctx context.Context) (err error) {
	a := &asides{s: s, folder: filepath.Join(s.folder, "certificate")}
	s.asides = a
	if a.site, err = startSite(s.folder); err != nil {
		return err
	}
	if a.network, err = launch.StartProxy("unix", s.redis.socket); err != nil {
		return err
	}
	a.network.Delay(crowdedDelay)
	if err := os.Mkdir(a.folder, 0o700); err != nil {
		return err
	}
	if err := a.startRooms(ctx); err != nil {
		return err
	}
	a.crowded, err = a.start(asideCrowded, a.network.Address(), "-max-conns", strconv.Itoa(crowdedMax),
		"-redis-timeout", crowdedTimeout.String())
	if err != nil {
		return err
	}
	return a.crowded.awaitReady(ctx)
}

// startRooms starts the server with the rooms. Its certificate ends tomorrow. It serves once it has the
// blocklist.
func (a *asides) startRooms(ctx context.Context) error {
	certificate, err := certtest.Make(a.folder, time.Now().Add(24*time.Hour))
	if err != nil {
		return err
	}
	if err := a.writeGroups("revoked"); err != nil {
		return err
	}
	a.rooms, err = a.start(asideRooms, a.s.redis.socket, "-tls-cert", certificate.ChainFile, "-tls-key",
		certificate.KeyFile, "-blocklist", a.site.url("/list"), "-blocklist-refresh", listRefresh.String(),
		"-repeats", "-repeats-memory", "1", "-traffic-keys", "1000", "-vk-groups", a.groups(),
		"-vk-api", a.site.url(""), "-limits",
		askedEvent+" by user 3/m; message by user unlimited; message by ip unlimited",
		"-chat", "-push-address", "127.0.0.1:0", "-push-offline-url", a.site.url(refusedHook),
		"-push-offline-secret", hookSecret)
	if err != nil {
		return err
	}
	a.trust = certtest.Trust(certificate)
	root := a.client()
	defer root.HangUp()
	return testkit.Await(ctx, "server with all rooms", startMax, func() bool {
		if root.Token == "" && root.Login("root", rootPassword) != nil {
			return false
		}
		a.token = root.Token
		r, err := root.Do("GET", "/blocklist", "")
		return err == nil && r.Status == http.StatusOK
	})
}

// client calls the server with the rooms as root.
func (a *asides) client() *client.Client {
	return &client.Client{Address: a.rooms.address, Timeout: answerPatient, TLS: a.trust, Token: a.token}
}

// start starts a server with one worker beside the others.
func (a *asides) start(number int, redis string, flags ...string) (*server, error) {
	one, err := newServer(a.s.servers[0].program.Path, a.s.folder, number,
		setup{servers: number, stock: a.s.setup.stock}, redis,
		a.s.alarms.prometheus.targets[number-1], nil)
	if err != nil {
		return nil, err
	}
	one.program.Args = append(one.program.Args, flags...)
	return one, one.start()
}

// stop ends everything, also after a start that failed half-way.
func (a *asides) stop() {
	for _, one := range []*server{a.rooms, a.crowded} {
		if one != nil {
			one.stop()
		}
	}
	if a.network != nil {
		a.network.Stop()
	}
	if a.site != nil {
		a.site.server.Close()
	}
}

// site is the source of the blocklist, VK's API, and a hook that takes no post.
type site struct {
	server *http.Server
	host   string
	broken atomic.Bool // it answers 503 to all but a refused token and the hook
	peers  sync.Map    // users with a message
}

func startSite(folder string) (*site, error) {
	list := filepath.Join(folder, "list.csv.bz2")
	pack := exec.Command("sh", "-c", `exec bzip2 -c > "$0"`, list)
	pack.Stdin = strings.NewReader(listRows)
	if err := pack.Run(); err != nil {
		return nil, fmt.Errorf("cannot pack a list with bzip2: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot serve the blocklist: %w", err)
	}
	s := &site{host: l.Addr().String()}
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.PostFormValue("access_token") == "revoked":
			fmt.Fprint(w, `{"error":{"error_code":5,"error_msg":"User authorization failed: invalid access_token"}}`)
		case r.URL.Path == refusedHook:
			w.WriteHeader(http.StatusGone)
		case s.broken.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/list":
			http.ServeFile(w, r, list)
		default:
			s.peers.Store(r.PostFormValue("peer_id"), true)
			fmt.Fprint(w, `{"response":1}`)
		}
	})}
	go func() { _ = s.server.Serve(l) }() // until Close
	return s, nil
}

func (s *site) url(path string) string { return "http://" + s.host + path }

func (s *site) took(peer int) bool {
	_, took := s.peers.Load(strconv.Itoa(peer))
	return took
}

func (a *asides) groups() string { return filepath.Join(a.folder, "groups.csv") }

// writeGroups writes the groups of the bot; token is for refusedGroup.
func (a *asides) writeGroups(token string) error {
	return os.WriteFile(a.groups(), fmt.Appendf(nil, groupsText, token), 0o600)
}

// message sends a message to the bot.
func (a *asides) message(group int, event string, peer int) error {
	vk := a.client()
	defer vk.HangUp()
	const text = `{"type":"message_new","group_id":%d,"event_id":%q,"secret":%q,` +
		`"object":{"peer_id":%d,"text":"hi"}}`
	r, err := vk.Do("POST", "/vk/callback", fmt.Sprintf(text, group, event, botSecret, peer))
	if err == nil && r.Body != "ok" {
		err = fmt.Errorf("a message to the bot is answered %d %s", r.Status, r.Body)
	}
	return err
}

// twoGroups sends a message to both groups of the bot. Only the good group can reply.
func (a *asides) twoGroups(ctx context.Context) error {
	err := errors.Join(a.message(refusedGroup, "first", refusedPeer), a.message(goodGroup, "first", goodPeer))
	if err != nil {
		return err
	}
	return testkit.Await(ctx, "reply beside a refused token", refusalMax, func() bool {
		return a.site.took(goodPeer) && !a.site.took(refusedPeer)
	})
}

// A process drops the hits of further keys when too many keys wait for the next flush of the statistics.
const (
	flushInterval = 15 * time.Second // by the clock
	floodTime     = 6 * time.Second  // for the keys, at most
	tooManyKeys   = 300_000
	keysOfCall    = 1500 // of a body of 32 KB
	floodPrefix   = "f:"
)

// floodKeys sends hits of more keys than may wait, within one flush interval, and returns after it.
func (a *asides) floodKeys(ctx context.Context) error {
	sender := a.client()
	defer sender.HangUp()
	flushed := func() time.Time { return time.Now().Truncate(flushInterval).Add(flushInterval) }
	if left := time.Until(flushed()); left < floodTime {
		background.Pause(ctx, left)
	}
	end := flushed()
	for key := 0; key < tooManyKeys; {
		var hits []string
		for range keysOfCall {
			hits = append(hits, `{"key":"`+floodPrefix+strconv.FormatInt(int64(key), 36)+`"}`)
			key++
		}
		r, err := sender.Do("POST", "/traffic/hit", `{"hits":[`+strings.Join(hits, ",")+`]}`)
		if err != nil || r.Status != http.StatusNoContent {
			return fmt.Errorf("hits are answered %d %s, %v", r.Status, r.Body, err)
		}
	}
	if time.Now().After(end) {
		return fmt.Errorf("%d keys took longer than %v", tooManyKeys, floodTime)
	}
	background.Pause(ctx, time.Until(end))
	return nil
}

// fillRepeats sends texts until the server keeps no more of them. All are answered.
func (a *asides) fillRepeats(ctx context.Context) error {
	const texts = 8000 // -repeats-memory counts each as 192 bytes
	sender := a.client()
	defer sender.HangUp()
	for i := 0; i < texts && ctx.Err() == nil; i++ {
		r, err := sender.Do("POST", "/repeats", fmt.Sprintf(`{"text":"text %d"}`, i))
		if err != nil || r.Status != http.StatusOK {
			return fmt.Errorf("a text is answered %d %s, %v", r.Status, r.Body, err)
		}
	}
	return ctx.Err()
}

// renew gives the server a certificate for two months and the refused group a new token.
func (a *asides) renew(context.Context) error {
	_, err := certtest.Make(a.folder, time.Now().Add(60*24*time.Hour))
	if err := errors.Join(err, a.writeGroups("good")); err != nil {
		return err
	}
	return a.rooms.process().Signal(syscall.SIGHUP)
}

// deleteKeys deletes keys of the flood, as root, until there is room for others.
func (a *asides) deleteKeys(context.Context) error {
	root := a.client()
	defer root.HangUp()
	var list struct{ Keys []struct{ Key string } }
	if err := root.Call("GET", "/traffic/keys?n=1000", "", &list); err != nil {
		return err
	}
	deleted := 0
	for _, one := range list.Keys {
		if !strings.HasPrefix(one.Key, floodPrefix) {
			continue
		}
		if err := root.Call("DELETE", "/traffic?key="+url.QueryEscape(one.Key), "", nil); err != nil {
			return err
		}
		deleted++
	}
	a.s.note("the statistics were full, and root deleted %d keys", deleted)
	return nil
}
