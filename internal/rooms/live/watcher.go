package live

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// endsMax is how many ended viewers are noticed in one turn.
const endsMax = 256

const unwatched = -1 // in place of a descriptor

// watcher finds viewers that have gone, by an epoll instance of its own. Whatever a viewer sends is its end
// too: no request can be answered behind a stream, and bytes that are never read would fill memory of the
// kernel.
type watcher struct {
	epoll   int
	viewers []*viewer // by descriptor
	events  [endsMax]unix.EpollEvent
}

func (w *watcher) open() (err error) {
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("cannot make an epoll instance for viewers: %w", err)
	}
	return nil
}

func (w *watcher) close() { unix.Close(w.epoll) }

// add watches a viewer until its socket is closed. One without a socket is not watched.
func (w *watcher) add(v *viewer) error {
	number := v.Descriptor()
	if number < 0 {
		return nil
	}
	for number >= len(w.viewers) {
		w.viewers = append(w.viewers, nil)
	}
	event := unix.EpollEvent{Fd: int32(number), Events: unix.EPOLLIN | unix.EPOLLRDHUP}
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, number, &event); err != nil {
		return fmt.Errorf("cannot watch a viewer: %w", err)
	}
	w.viewers[number], v.number = v, number
	return nil
}

// forget ends what add began. The socket may be closed already.
func (w *watcher) forget(v *viewer) {
	if v.number != unwatched && w.viewers[v.number] == v {
		w.viewers[v.number] = nil
	}
}

// ended calls f for each viewer that has gone.
func (w *watcher) ended(f func(*viewer)) {
	// After an error there is nothing to do before the next turn.
	n, _ := unix.EpollWait(w.epoll, w.events[:], 0)
	for _, e := range w.events[:max(n, 0)] {
		if v := w.viewers[e.Fd]; v != nil {
			f(v)
		}
	}
}
