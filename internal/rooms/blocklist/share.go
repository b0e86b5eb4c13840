package blocklist

import (
	"bufio"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	pieceBytes = 128 << 10            // one piece takes Redis a fraction of a millisecond
	piecesMax  = 8 << 10              // 1 GB
	piecePause = 5 * time.Millisecond // between two pieces: other calls get their turn
	draftTTL   = 600                  // seconds, of pieces that were never published
	oldTTL     = 60                   // seconds, of pieces that are not the newest any more
	existsMax  = 256                  // keys in one command that counts pieces
)

// The scripts of the room.
var (
	publishScript  = pipeline.NewScript(publishLua)
	withdrawScript = pipeline.NewScript(withdrawLua)
)

var (
	//go:embed publish.lua
	publishLua string
	//go:embed withdraw.lua
	withdrawLua string
)

// The results of publish.lua.
const (
	published    = 1
	notNewer     = 0
	pieceMissing = -1
)

// errNotWhole is the outcome of fetching a snapshot that is not as it was published.
var errNotWhole = errors.New("a piece of the blocklist in Redis is lost or damaged")

// share is the newest snapshot in Redis, which all servers of the sale see.
type share struct {
	cfg   pipeline.Config
	pause time.Duration // piecePause, except in tests
}

// newest describes the snapshot in Redis. The zero value is for a Redis without a snapshot.
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

// generation names the content of one snapshot file. The sum is that of all its bytes; it is not the
// file's own one, which would give the same sum for every file.
func generation(imported int64, sum uint32) string {
	return fmt.Sprintf("%s-%08x", strconv.FormatInt(imported, 36), sum)
}

// fetch writes a snapshot of Redis to w. Errors: errNotWhole.
func (s *share) fetch(ctx context.Context, l *pipeline.Link, n newest, w io.Writer) error {
	out := &summing{w, crc32.NewIEEE()}
	for i := range n.Pieces {
		if err := ctx.Err(); err != nil {
			return err
		}
		var piece []byte
		key := pieceKey(n.Generation, i)
		if err := l.Do(pipeline.Command(&piece, "GET", key), s.cfg.Timeout); err != nil {
			return err
		}
		if _, err := out.Write(piece); err != nil {
			return err
		}
	}
	if generation(n.Imported, out.sum.Sum32()) != n.Generation {
		return errNotWhole
	}
	return nil
}

// whole reports whether Redis has all pieces of a snapshot. It does not read them: fetch does.
func (s *share) whole(l *pipeline.Link, n newest) (bool, error) {
	for from := 0; from < n.Pieces; from += existsMax {
		args := []string{"EXISTS"}
		for i := from; i < min(from+existsMax, n.Pieces); i++ {
			args = append(args, pieceKey(n.Generation, i))
		}
		var there int
		if err := l.Do(pipeline.Command(&there, args...), s.cfg.Timeout); err != nil {
			return false, err
		}
		if there < len(args)-1 {
			return false, nil
		}
	}
	return true, nil
}

// withdraw takes a snapshot away, unless another one has taken its place.
func (s *share) withdraw(l *pipeline.Link, n newest) error {
	return l.Do(withdrawScript.Eval(new(int), []string{newestKey}, n.Generation, piecePrefix,
		strconv.Itoa(oldTTL)), s.cfg.Timeout)
}

// publish puts the snapshot file at path into Redis, a piece at a time, unless a later one is there.
func (s *share) publish(ctx context.Context, l *pipeline.Link, path string, info Info) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot publish the blocklist: %w", err)
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	bytes, err := io.Copy(sum, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("cannot publish the blocklist: %w", err)
	}
	generation := generation(info.Imported, sum.Sum32())
	keys, err := s.putPieces(ctx, l, generation, file)
	if err != nil {
		return err
	}
	var result int
	call := publishScript.Eval(&result, append([]string{newestKey}, keys...), generation,
		strconv.FormatInt(info.Imported, 10), strconv.FormatInt(bytes, 10), piecePrefix, strconv.Itoa(oldTTL))
	if err := l.Do(call, s.cfg.Timeout); err != nil {
		return err
	}
	switch result {
	case published, notNewer: // the pieces of one that is not newer expire
		return nil
	case pieceMissing:
		return errors.New("cannot publish the blocklist: Redis has lost a piece of it")
	}
	return fmt.Errorf("publish.lua returns %d", result)
}

// putPieces puts the pieces of a snapshot into Redis and returns their keys. They expire if nothing else
// happens.
func (s *share) putPieces(ctx context.Context, l *pipeline.Link, generation string, file io.Reader) (
	keys []string, err error) {
	in := bufio.NewReader(file)
	for {
		piece := make([]byte, pieceBytes)
		n, err := io.ReadFull(in, piece)
		if n == 0 && errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("cannot publish the blocklist: %w", err)
		}
		key := pieceKey(generation, len(keys))
		set := pipeline.Command(new(string), "SET", key, string(piece[:n]), "EX", strconv.Itoa(draftTTL))
		if err := l.Do(set, s.cfg.Timeout); err != nil {
			return nil, err
		}
		keys = append(keys, key)
		if !background.Pause(ctx, s.pause) {
			return nil, ctx.Err()
		}
	}
}
