package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge-go"
)

const help = `  /threads            your threads, with their numbers
  /open 3             opens the third of them
  /with NAME          opens the thread with a user; the user becomes a contact
  /group NAME NAME... starts a group
  /members            who is in the open group
  /add NAME           adds a user to the open group; so do /remove NAME, and
                      /owner NAME, who may add and remove, too
  /leave              leaves the open group
  /block NAME         neither of you writes to the other; /unblock NAME
  /room               opens the room of the sale
  /history            older messages of the open thread
  /mute               mutes the open thread, or ends that
  /nick TEXT          gives the open thread a name that only you see
  /who                who is online, of your contacts
  /quit               ends
Anything else is sent to the open thread.`

// command does what the person has typed; false ends the program.
func (t *terminal) command(line string) bool {
	if t.socket != nil && t.socket.State() == centrifuge.StateDisconnected {
		_ = t.socket.Connect() // after an error it tries again by itself
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case line == "":
	case word == "/quit":
		return false
	case word == "/help":
		t.say("%s", help)
	case word == "/threads":
		t.listThreads()
	case word == "/open":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > len(t.list) {
			t.say("! /open needs a number of the list: /threads")
			break
		}
		t.enter(t.list[n-1])
	case word == "/with", word == "/group":
		t.start(word == "/group", strings.Fields(rest))
	case word == "/room":
		if id, err := t.roomID(t.patience()); !t.fails(err) {
			t.enter(thread{ID: id, Kind: "room"})
		}
	case word == "/who":
		t.showContacts()
	case word == "/block", word == "/unblock":
		t.block(rest, word == "/block")
	case t.open.ID == "":
		t.say("! No thread is open: /open 1, /with NAME, /room, /help")
	case word == "/members":
		t.showMembers()
	case word == "/add", word == "/remove", word == "/owner":
		t.changeMember(word, rest)
	case word == "/leave":
		t.leave()
	case word == "/history":
		t.readOld()
	case word == "/mute":
		t.change(map[string]any{"is_muted": !t.open.Muted})
	case word == "/nick":
		t.change(map[string]any{"nickname": rest})
	case strings.HasPrefix(word, "/"):
		t.say("! %s is no command; /help lists them", word)
	default:
		m, err := t.post(t.patience(), t.open.ID, strconv.FormatInt(time.Now().UnixNano(), 36), line)
		if !t.fails(err) && m.ID == t.newest+1 {
			t.show(&m) // the push of it is skipped
		}
	}
	return true
}

// listThreads shows the threads, the newest change first.
func (t *terminal) listThreads() {
	list, changed, err := t.threads(t.patience(), "limit=50")
	if t.fails(err) {
		return
	}
	t.learnOf(list)
	t.list, t.changed = list, changed
	if len(list) == 0 {
		t.say("No threads yet: /with NAME starts one, /room opens the room of the sale.")
	}
	for i := range list {
		unread, muted := "", ""
		if list[i].Unread > 0 {
			unread = fmt.Sprintf("  %d unread", list[i].Unread)
		}
		if list[i].Muted {
			muted = "  muted"
		}
		t.say("%3d  %s%s%s", i+1, t.title(&list[i]), unread, muted)
	}
}

// title names a thread for the person.
func (t *terminal) title(of *thread) string {
	switch {
	case of.Nickname != "":
		return of.Nickname
	case of.Kind == "room":
		return "the room of the sale"
	}
	var others []string
	for _, user := range of.Participants {
		if user != t.session.user {
			others = append(others, t.nameOf(user))
		}
	}
	if of.Kind == "pair" {
		return strings.Join(others, ", ")
	}
	return fmt.Sprintf("group of %d: %s", of.Members, strings.Join(others, ", "))
}

// enter opens a thread.
func (t *terminal) enter(of thread) {
	t.markRead()
	t.forget()
	t.open, t.marked = of, of.Read
	t.say("--- %s", t.title(&of))
	if t.polling {
		t.readNew()
	}
	t.subscribe()
}

// forget has no thread open.
func (t *terminal) forget() {
	if t.sub != nil {
		_ = t.sub.Unsubscribe() // it may be unsubscribed already
		t.fails(t.socket.RemoveSubscription(t.sub))
	}
	t.open, t.sub, t.oldest, t.newest = thread{}, nil, 0, -1
}

// start opens a thread with users, given by name or by id.
func (t *terminal) start(group bool, names []string) {
	if len(names) == 0 || !group && len(names) > 1 {
		t.say("! /with needs a name, /group some")
		return
	}
	var ids []uint32
	for _, name := range names {
		id, err := t.find(name)
		if t.fails(err) {
			return
		}
		ids = append(ids, id)
	}
	body, _ := json.Marshal(map[string]any{"participants": ids, "group": group}) // it can always be written
	var started thread
	if !t.fails(t.call("POST", "/threads", string(body), &started)) {
		t.enter(started)
	}
}

// readOld shows a page of messages before the oldest shown one.
func (t *terminal) readOld() {
	if t.oldest <= 1 {
		t.say("This is the beginning.")
		return
	}
	query := fmt.Sprintf("limit=%d&before=%d", historyPage, t.oldest)
	list, _, err := t.messages(t.patience(), t.open.ID, query)
	if t.fails(err) {
		return
	}
	if len(list) == 0 {
		t.say("Older messages are no longer kept.")
		return
	}
	t.oldest = list[0].ID
	for i := range list {
		t.line(&list[i])
	}
}

// change changes the person's view of the open thread.
func (t *terminal) change(fields map[string]any) {
	body, _ := json.Marshal(fields) // it can always be written
	var changed thread
	if t.fails(t.call("PATCH", "/threads/"+t.open.ID, string(body), &changed)) {
		return
	}
	t.open = changed
	muted := ""
	if changed.Muted {
		muted = ", muted"
	}
	t.say("--- %s%s", t.title(&changed), muted)
}
