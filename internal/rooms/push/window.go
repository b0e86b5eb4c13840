package push

import (
	"slices"

	"github.com/centrifugal/centrifuge"
)

// The window of a thread: its newest messages, in memory. The callers hold the thread's lock, but for page.

// add adds the next message.
func (t *thread) add(pub *centrifuge.Publication) {
	t.last = pub.Offset
	if t.all.now().Sub(t.read) > windowKept {
		t.forgetWindow()
		return
	}
	t.push(pub)
	t.shorten()
}

// push adds a message to the window.
func (t *thread) push(pub *centrifuge.Publication) {
	t.window = append(t.window, pub)
	t.count(len(pub.Data) + messageBytes)
}

func (t *thread) count(bytes int) {
	t.bytes += bytes
	t.all.bytes.Add(int64(bytes))
}

// shorten forgets the oldest messages of a window that is too large.
func (t *thread) shorten() {
	cut, bytes := 0, t.bytes
	for ; len(t.window)-cut > t.all.most || bytes > windowBytes; cut++ {
		bytes -= len(t.window[cut].Data) + messageBytes
	}
	if cut == 0 {
		return
	}
	t.window, t.from, t.whole, t.cut = t.window[cut:], t.window[cut-1].Offset, false, true
	t.count(bytes - t.bytes)
}

// bytesOf is what messages take in a reply, about.
func bytesOf(messages []*centrifuge.Publication) (n int) {
	for _, pub := range messages {
		n += len(pub.Data)
	}
	return n
}

func (t *thread) forgetWindow() {
	t.from, t.whole, t.cut, t.window = t.last, t.last == 0, false, nil
	t.count(-t.bytes)
}

func (t *thread) viewAfter(id uint64) view {
	i, _ := slices.BinarySearchFunc(t.window, id, func(pub *centrifuge.Publication, id uint64) int {
		if pub.Offset <= id {
			return -1
		}
		return 1
	})
	older := id < t.from && !t.whole
	return view{centrifuge.StreamPosition{Offset: t.last, Epoch: t.epoch}, t.window[i:], older}
}

// page returns at most limit messages after an id. Those that are too old for the window are not kept.
func (t *thread) page(id uint64, limit int) (view, error) {
	v, err := t.after(id)
	if err != nil || !v.older {
		v.messages = v.messages[:min(limit, len(v.messages))]
		return v, err
	}
	found, err := t.all.load(t.name, id, limit)
	v.messages = nil
	for _, m := range found.Messages {
		v.messages = append(v.messages, publicationOf(&m))
	}
	return v, err
}
