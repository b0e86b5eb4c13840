package config

import (
	"fmt"
	"strings"
)

// typingErrors is how many letters of a word may be wrong so that it still suggests another.
const typingErrors = 2

// Suggest tells which word was meant by one that is none of them; all words if that is not clear.
func Suggest(typed string, words []string) string {
	word := nearest(typed, words)
	if word == "" {
		last := len(words) - 1
		return fmt.Sprintf("say %s or %s", strings.Join(words[:last], ", "), words[last])
	}
	return fmt.Sprintf("did you mean %s?", word)
}

// nearest returns the word that was meant, "" if that is not clear.
func nearest(typed string, words []string) (found string) {
	least := typingErrors + 1
	for _, word := range words {
		if n := lettersApart(typed, word); n < least && n < len(word) {
			found, least = word, n
		}
	}
	return found
}

// lettersApart is the least number of letters to add, leave out, replace or swap with the next one to get
// from one word to another (optimal string alignment).
func lettersApart(from, to string) int {
	var rows [3][]int // of the letter before the last one, the last one, this one
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
	}
	for j := range rows[2] {
		rows[2][j] = j
	}
	for i := 1; i <= len(from); i++ {
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
		rows[2][0] = i
		for j := 1; j <= len(to); j++ {
			change := 1
			if from[i-1] == to[j-1] {
				change = 0
			}
			rows[2][j] = min(rows[1][j]+1, rows[2][j-1]+1, rows[1][j-1]+change)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				rows[2][j] = min(rows[2][j], rows[0][j-2]+1)
			}
		}
	}
	return rows[2][len(to)]
}
