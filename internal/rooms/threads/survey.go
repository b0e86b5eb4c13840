package threads

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4"

	"flashsale/redisx/pipeline"
)

const surveyStep = 200 // keys that one step looks at

// Place is where the messages of a thread are.
type Place struct {
	Thread, Epoch string
	Kept          int64 // oldest message that is not gone; from it to First-1 the archive has them
	First, Last   int64 // in Redis
	Ended         bool  // the archive has to forget them
}

// Survey calls visit with the place of every thread, at times twice. It reads all keys of Redis.
func (t *Threads) Survey(ctx context.Context, visit func(Place)) error {
	for part := range pipeline.Parts {
		var due []string
		err := t.redis.Part(part).Do(pipeline.Command(&due, "ZRANGE", partKey(part, "trim"), "0", "-1"))
		if err != nil {
			return err
		}
		for _, member := range due {
			if thread, created, ended := strings.Cut(member, " "); ended {
				visit(Place{Thread: thread, Epoch: epoch(milli(created)), Ended: true})
			}
		}
	}
	for _, conn := range t.redis.Conns() {
		for cursor := ""; cursor != "0"; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var keys []string
			err := conn.Do(pipeline.Command(&radix.Tuple{&cursor, &keys}, "SCAN", cmp.Or(cursor, "0"), "MATCH",
				threadPrefix+"*", "COUNT", strconv.Itoa(surveyStep)))
			if err == nil {
				err = t.look(conn, keys, visit)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Look is Survey of one thread, which may be gone or have ended.
func (t *Threads) Look(thread string, visit func(Place)) error {
	return t.look(t.of(thread), []string{threadKey(thread)}, visit)
}

// look calls visit with the threads among keys of a Redis.
func (t *Threads) look(conn *pipeline.Conn, keys []string, visit func(Place)) error {
	var threads []string
	for _, key := range keys {
		id := key[strings.LastIndexByte(key, ':')+1:]
		if kindOf(id) != "" && key == threadKey(id) && t.of(id) == conn {
			threads = append(threads, id)
		}
	}
	if len(threads) == 0 {
		return nil
	}
	found := make([][]string, len(threads))
	x := pipeline.NewCall()
	for i, id := range threads {
		x.Command(&found[i], "HMGET", threadKey(id), "last", "first", "created", "kept")
	}
	if err := conn.Do(x); err != nil {
		return err
	}
	for i, f := range found {
		if f[2] != "" {
			visit(Place{Thread: threads[i], Epoch: epoch(milli(f[2])), Kept: max(number(f[3]), 1),
				First: number(f[1]), Last: number(f[0])})
		}
	}
	return nil
}
