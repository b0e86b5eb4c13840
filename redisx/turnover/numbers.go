package turnover

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"flashsale/redisx/pipeline"
)

// Numbers of all foods, such as their prices, are kept as a list of texts with numbersText numbers each: a
// catalogue may have a million foods, and no reply of Redis is to be that long.
const (
	numbersText = 1000
	numbersPage = 100 // texts that one reply has
)

// numberTexts writes numbers as a list keeps them, with commas between.
func numberTexts(list []int64) (texts []string) {
	var text []byte
	for i, n := range list {
		if i > 0 && i%numbersText == 0 {
			texts, text = append(texts, string(text)), text[:0]
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	if len(text) > 0 {
		texts = append(texts, string(text))
	}
	return texts
}

// readNumbers reads the numbers of a list, none where it is not there.
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
