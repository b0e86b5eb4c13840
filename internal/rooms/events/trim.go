package events

import (
	_ "embed" // the script
	"errors"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

// How long events are kept: a day, and until all receivers have them. Beyond the cap the oldest go, whoever
// has not got them; the log of the sale is kept for ever.
const (
	keep     = 24 * time.Hour
	cap      = 1_000_000 // events of a stream
	trimPage = 200       // entries that one call of the script looks at
)

var (
	//go:embed trim.lua
	trimLua    string
	trimScript = pipeline.NewScript(trimLua)
)

// cut is what was cut off a stream.
type cut struct {
	ID    radix.StreamEntryID // of the last entry
	Count int64

	id, count string // as Redis has them
}

// askCut adds the command that reads the cut. parse must follow.
func (s *stream) askCut(x *pipeline.Call, c *cut) {
	x.Command(&radix.Tuple{&c.id, &c.count}, "HMGET", s.cutKey(), "id", "count")
}

// parse reads what Redis has answered; nothing was cut off where it has nothing.
func (c *cut) parse() error {
	if c.id == "" {
		return nil
	}
	var err1, err2 error
	c.ID, err1 = parseID(c.id)
	c.Count, err2 = strconv.ParseInt(c.count, 10, 64)
	return errors.Join(err1, err2)
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
