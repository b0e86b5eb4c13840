package events

import (
	_ "embed" // the script
	"errors"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// How long events are kept: some days, and until all receivers have them; those of a sale that has ended for
// so long after the last one. Beyond the cap the oldest go, whoever has not got them. The log of the sale is
// kept for ever.
const (
	keep     = 4 * 24 * time.Hour
	cap      = 1_000_000 // events of a stream
	trimPage = 200       // entries that one call of the script looks at
)

var (
	//go:embed trim.lua
	trimLua    string
	trimScript = pipeline.NewScript(trimLua)

	//go:embed expire.lua
	expireLua    string
	expireScript = pipeline.NewScript(expireLua)
)

// cut is what was cut off a stream.
type cut struct {
	ID    radix.StreamEntryID // of the last entry
	Count int64
	end   radix.StreamEntryID // the last entry of a sale that has ended; it may have expired

	texts [3]string // as Redis has them
}

// askCut adds the command that reads the cut. parse must follow.
func (s *stream) askCut(x *pipeline.Call, c *cut) {
	x.Command(&radix.Tuple{&c.texts[0], &c.texts[1], &c.texts[2]}, "HMGET", s.cutKey(), "id", "count", "end")
}

// parse reads what Redis has answered; nothing was cut off where it has nothing.
func (c *cut) parse() (err error) {
	if c.texts[2] != "" {
		c.end, err = parseID(c.texts[2])
	}
	if c.texts[0] == "" || err != nil {
		return err
	}
	var err1, err2 error
	c.ID, err1 = parseID(c.texts[0])
	c.Count, err2 = strconv.ParseInt(c.texts[1], 10, 64)
	return errors.Join(err1, err2)
}

// hides reports whether entries behind a place are no longer there; the page is what is there behind it.
func (c *cut) hides(at radix.StreamEntryID, page []radix.StreamEntry) bool {
	expired := at.Before(c.end) && (len(page) == 0 || c.end.Before(page[0].ID))
	return expired || at.Before(c.ID)
}

// trim cuts off what need not be kept, a page at a time, and returns whether there may be more.
func (s *stream) trim(receivers []Receiver, keep time.Duration, cap int) (more bool, err error) {
	if s.name == logName {
		return false, nil
	}
	keys := []string{s.key, s.cutKey()}
	for _, r := range receivers {
		keys = append(keys, s.placeKey(r.Name))
	}
	var cut, rest int64
	x := trimScript.Call(&radix.Tuple{&cut, &rest}, keys, strconv.FormatInt(keep.Milliseconds(), 10),
		strconv.Itoa(cap), strconv.Itoa(trimPage))
	err = s.redis.Do(x)
	return rest > 0, err
}

// expire lets the stream of a sale that has ended expire, and what is beside it. It must be called again
// after each new entry, which makes the stream stay.
func (s *stream) expire(receivers []Receiver) error {
	if s.name == logName {
		return nil
	}
	keys := []string{s.key, s.cutKey()}
	for _, r := range receivers {
		keys = append(keys, s.placeKey(r.Name), s.deadKey(r.Name))
	}
	return s.redis.Do(expireScript.Call(nil, keys, strconv.Itoa(int(keep/time.Second))))
}
