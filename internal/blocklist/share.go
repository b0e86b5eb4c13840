package blocklist

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"flashsale/redisx/pipeline"
)

const (
	pieceBytes = 128 << 10            // one piece takes Redis a fraction of a millisecond
	piecesMax  = 8 << 10              // 1 GB
	piecePause = 5 * time.Millisecond // between two pieces: other calls get their turn
	draftTTL   = 600 * time.Second    // of pieces that were never published
	clearMax   = 256                  // keys in one command that clears old pieces
)

// The results of publish.lua.
const (
	published    = 1
	notNewer     = 0
	pieceMissing = -1
)

//go:embed publish.lua
var publishSource string

var publishScript = pipeline.NewScript(publishSource)

// share is the newest snapshot in Redis, which all servers of the sale see.
type share struct {
	cfg   pipeline.Config
	pause time.Duration // piecePause, except in tests
}

// newest describes the snapshot in Redis. The zero value is none.
type newest struct {
	Generation string `redis:"generation"`
	Imported   int64  `redis:"imported"` // Unix milliseconds
	Pieces     int    `redis:"pieces"`
	Bytes      int64  `redis:"bytes"`
}

// newest asks Redis which snapshot it holds.
func (s *share) newest(l *pipeline.Link) (newest, error) {
	var n newest
	if err := l.Do(pipeline.Command(&n, "HGETALL", newestKey), s.cfg.Timeout); err != nil {
		return n, err
	}
	if n.Pieces < 0 || n.Pieces > piecesMax || n.Bytes < 0 || n.Bytes > piecesMax*pieceBytes {
		return n, fmt.Errorf("cannot take a blocklist of Redis: it claims %d pieces and %d bytes", n.Pieces,
			n.Bytes)
	}
	return n, nil
}

// generation names one snapshot file.
func generation(info Info) string { return strconv.FormatInt(info.Imported, 36) }

// fetch writes a snapshot of Redis to w.
func (s *share) fetch(ctx context.Context, l *pipeline.Link, n newest, w io.Writer) error {
	for i := range n.Pieces {
		if err := ctx.Err(); err != nil {
			return err
		}
		var piece []byte
		key := pieceKey(n.Generation, i)
		if err := l.Do(pipeline.Command(&piece, "GET", key), s.cfg.Timeout); err != nil {
			return err
		}
		if len(piece) == 0 {
			return fmt.Errorf("cannot find piece %d of the blocklist: Redis has lost it, or holds a newer one", i)
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// publish puts the snapshot file at path into Redis, a piece at a time, unless a later one is there. Then it
// clears the pieces of the one before.
func (s *share) publish(ctx context.Context, l *pipeline.Link, before newest, path string, info Info) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot publish the blocklist: %w", err)
	}
	defer file.Close()
	keys := []string{newestKey}
	bytes, in := 0, bufio.NewReader(file)
	for {
		piece := make([]byte, pieceBytes)
		n, err := io.ReadFull(in, piece)
		if n == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("cannot publish the blocklist: %w", err)
		}
		key := pieceKey(generation(info), len(keys)-1)
		set := pipeline.Command(new(string), "SET", key, string(piece[:n]), "EX",
			strconv.Itoa(int(draftTTL.Seconds())))
		if err := l.Do(set, s.cfg.Timeout); err != nil {
			return err
		}
		keys, bytes = append(keys, key), bytes+n
		select {
		case <-time.After(s.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var result int
	call := publishScript.Eval(&result, keys, generation(info), strconv.FormatInt(info.Imported, 10),
		strconv.Itoa(bytes))
	if err := l.Do(call, s.cfg.Timeout); err != nil {
		return err
	}
	switch result {
	case published:
		return s.clear(l, before)
	case notNewer:
		return nil // the pieces expire
	case pieceMissing:
		return errors.New("cannot publish the blocklist: Redis has lost a piece of it")
	}
	return fmt.Errorf("publish.lua returns %d", result)
}

// clear deletes the pieces of a snapshot that is not the newest any more.
func (s *share) clear(l *pipeline.Link, old newest) error {
	for from := 0; from < old.Pieces; from += clearMax {
		args := []string{"UNLINK"}
		for i := from; i < min(from+clearMax, old.Pieces); i++ {
			args = append(args, pieceKey(old.Generation, i))
		}
		if err := l.Do(pipeline.Command(new(int), args...), s.cfg.Timeout); err != nil {
			return err
		}
	}
	return nil
}
