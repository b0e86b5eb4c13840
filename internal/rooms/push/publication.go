package push

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/centrifugal/centrifuge"
)

// created is the form of a message's time: milliseconds.
const created = "2006-01-02T15:04:05.000Z07:00"

// shownMessage is a message as clients get it.
type shownMessage struct {
	ID      uint64 `json:"id"`
	Thread  string `json:"thread_id"`
	User    uint32 `json:"user_id"`
	Content string `json:"content"`
	Created string `json:"created_at"`
}

// shownRemoved is a message of which only the position is left.
type shownRemoved struct {
	ID      uint64 `json:"id"`
	Thread  string `json:"thread_id"`
	Removed bool   `json:"removed"`
}

// encodeMessage encodes a message as the API does.
func encodeMessage(m *Message) []byte {
	var shown any = shownMessage{m.ID, m.Thread, m.User, m.Content, m.Created.UTC().Format(created)}
	if m.Erased {
		shown = shownRemoved{m.ID, m.Thread, true}
	}
	text, err := json.Marshal(shown)
	if err != nil { // it has only texts and numbers
		panic(err)
	}
	return text
}

// publicationOf is a message on its thread's channel: the offset is the message's id.
func publicationOf(m *Message) *centrifuge.Publication {
	pub := &centrifuge.Publication{Offset: m.ID, Data: encodeMessage(m), Time: m.Created.UnixMilli()}
	if m.User != 0 {
		pub.Info = &centrifuge.ClientInfo{UserID: userName(m.User)}
	}
	return pub
}

// threadEvent is the push for a change of a thread that is no message.
func threadEvent(e *Entry) []byte {
	b := append([]byte(`{"event":`), strconv.Quote(string(e.What))...)
	b = append(append(b, `,"thread_id":`...), strconv.Quote(e.Thread)...)
	if e.User != 0 {
		b = strconv.AppendUint(append(b, `,"user_id":`...), uint64(e.User), 10)
	}
	if e.Message.ID != 0 {
		b = strconv.AppendUint(append(b, `,"message_id":`...), e.Message.ID, 10)
	}
	return append(b, '}')
}

// messageEvent is the push to a member for a stored message.
func messageEvent(message []byte) []byte {
	return append(append([]byte(`{"event":"message","message":`), message...), '}')
}

// lag is the time from storing to now.
func lag(m *Message, now time.Time) time.Duration { return max(now.Sub(m.Created), 0) }
