package turnover

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/redisx/pipeline"
)

// Numbers of all foods, such as prices, are kept as a list of texts with numbersText numbers each: a reply
// of Redis with a million foods would be too long.
const (
	numbersText = 1000
	numbersPage = 100 // texts in one reply
)

// numberTexts writes numbers as texts of a list, with commas between.
func numberTexts(list []int64) (texts []string) {
	for part := range slices.Chunk(list, numbersText) {
		var text []byte
		for _, n := range part {
			text = append(strconv.AppendInt(text, n, 10), ',')
		}
		texts = append(texts, string(text[:len(text)-1]))
	}
	return texts
}

// readNumbers reads the numbers of a list, none without a list.
func readNumbers(l *pipeline.Link, key string, limit time.Duration) (list []int64, err error) {
	for first := 0; ; first += numbersPage {
		var texts []string
		x := pipeline.Command(&texts, "LRANGE", key, strconv.Itoa(first), strconv.Itoa(first+numbersPage-1))
		if err := l.Do(x, limit); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", key, err)
		}
		for _, text := range texts {
			for field := range strings.SplitSeq(text, ",") {
				n, err := strconv.ParseInt(field, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("cannot read %s: %w", key, err)
				}
				list = append(list, n)
			}
		}
		if len(texts) < numbersPage {
			return list, nil
		}
	}
}
