package sessions

import (
	"context"
	"strconv"
	"strings"
	"time"

	"flashsale/internal/background"
	"flashsale/redisx/pipeline"
)

const (
	hearPace  = 250 * time.Millisecond // between two questions for ends
	hearFirst = 10 * time.Millisecond  // until Redis has answered once
	hearAgain = 2 * time.Second        // how far back they ask: clocks of a Redis and its successor differ
	hearPage  = 1000                   // people in an answer
	sweepEach = time.Minute
)

// hear asks Redis who has ended sessions, until ctx ends.
func (s *Sessions) hear(ctx context.Context) {
	swept, heard := time.Now(), false
	background.Repeat(ctx, func() time.Duration {
		heard = s.hearEnds() == nil || heard // after an error the next question asks for as much
		if now := time.Now(); now.Sub(swept) >= sweepEach {
			s.ended.sweep(now.Unix())
			swept = now
		}
		if !heard { // this process has just begun
			return hearFirst
		}
		return hearPace
	})
}

// hearEnds reads what has ended since the question before, page by page. Who ends something meanwhile moves
// behind the last page; so a page begins where the one before has ended, and not at an offset: that would
// miss somebody.
func (s *Sessions) hearEnds() error {
	from := s.heard - float64(hearAgain.Milliseconds())
	for offset := 0; ; {
		var rows []string
		err := s.conn.Do(pipeline.Command(&rows, "ZRANGEBYSCORE", changedKey,
			strconv.FormatFloat(from, 'f', 0, 64), "+inf", "WITHSCORES",
			"LIMIT", strconv.Itoa(offset), strconv.Itoa(hearPage)))
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := s.read(rows); err != nil {
			return err
		}
		last, err := strconv.ParseFloat(rows[len(rows)-1], 64)
		if err != nil {
			return err
		}
		if s.heard = max(s.heard, last); len(rows) < 2*hearPage {
			return nil
		}
		if offset += hearPage; last > from {
			from, offset = last, 0
		}
	}
}

// read reads the notes of people, given with their scores.
func (s *Sessions) read(rows []string) error {
	words := []string{"HMGET", notesKey}
	for i := 0; i < len(rows); i += 2 {
		words = append(words, rows[i])
	}
	var notes []string
	if err := s.conn.Do(pipeline.Command(&notes, words...)); err != nil {
		return err
	}
	told := map[Holder]ends{}
	for i, note := range notes {
		if h, ok := holderOf(words[2+i]); ok {
			told[h] = s.endsOf(h, note)
		}
	}
	s.ended.add(told, time.Now().Unix())
	return nil
}

// endsOf reads a note of a holder, see end.lua. What is no note counts as none.
func (s *Sessions) endsOf(h Holder, note string) (own ends) {
	all, rest, _ := strings.Cut(note, " ")
	if end, err := strconv.ParseInt(all, 10, 64); err == nil && end > 0 {
		own.all = s.last(h, end)
	}
	words := strings.Fields(rest)
	for i := 0; i+1 < len(words); i += 2 {
		session, err1 := strconv.ParseUint(words[i], 10, 32)
		expires, err2 := strconv.ParseInt(words[i+1], 10, 64)
		if err1 == nil && err2 == nil {
			own.single = append(own.single, single{uint32(session), expires})
		}
	}
	return own
}
