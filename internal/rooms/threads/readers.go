package threads

import "flashsale/redisx/pipeline"

// Readers returns the members of a thread that is not large, and whether each has muted it. A thread that is
// gone has none.
func (t *Threads) Readers(thread string) (map[uint32]bool, error) {
	var texts map[string]string
	x := pipeline.Command(&texts, "HGETALL", threadKey(thread)+":members")
	if err := t.of(thread).Do(x); err != nil {
		return nil, err
	}
	readers := make(map[uint32]bool, len(texts))
	for text, found := range texts {
		user, err := userOf(text)
		if m, ok := memberOf(found); ok && err == nil {
			readers[user] = m.muted
		}
	}
	return readers, nil
}
