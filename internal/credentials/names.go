package credentials

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Characters of a name.
const (
	nameMin = 3
	nameMax = 32
)

const foldRounds = 8

// Fold returns the form in which names are compared: Unicode NFKC and case folded (NFKC_Casefold of Unicode,
// chapter 3.13, but nothing is left out). Fold(Fold(x)) is Fold(x).
func Fold(name string) string {
	if IsFolded(name) {
		return name
	}
	// NFKC of a folded text can have capitals again, and folding can undo NFKC. The fuzz test finds no text
	// that needs more than a few rounds.
	for range foldRounds {
		next := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
		if next == name {
			break
		}
		name = next
	}
	return name
}

// IsFolded reports at once that a text of small ASCII letters is folded; most names are such.
func IsFolded[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// Name returns the name as others see it, and its folded form; ErrBadName or ErrMixedName for what cannot
// be a name.
func Name(name string) (shown, folded string, err error) {
	if len(name) > nameMax*utf8.UTFMax || !utf8.ValidString(name) || strings.ContainsFunc(name, IsHidden) {
		return "", "", ErrBadName
	}
	shown = norm.NFKC.String(name)
	folded = Fold(shown)
	switch n := utf8.RuneCountInString(shown); {
	case n < nameMin, n > nameMax, utf8.RuneCountInString(folded) > nameMax,
		strings.ContainsFunc(shown, IsHidden), strings.ContainsFunc(folded, IsHidden),
		strings.Contains(shown, "/"), // no URL could name it
		strings.TrimSpace(shown) != shown, strings.Contains(shown, "  "),
		!strings.ContainsFunc(shown, func(c rune) bool { return !unicode.IsNumber(c) }): // it would be an id
		return "", "", ErrBadName
	case mixesScripts(shown), mixesScripts(folded): // folding can make a letter of a mark
		return "", "", ErrMixedName
	}
	return shown, folded, nil
}

// writtenTogether are the scripts that names of a language mix. Names of one script only may be of any.
var writtenTogether = [][]*unicode.RangeTable{
	{unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana},
	{unicode.Latin, unicode.Han, unicode.Bopomofo},
	{unicode.Latin, unicode.Han, unicode.Hangul},
}

// mixesScripts reports whether a name has letters of scripts that no language mixes: the Cyrillic о looks as
// an o does, so one could take the name of another user. This is the level Highly Restrictive of Unicode
// UTS 39, section 5.2.
func mixesScripts(name string) bool {
	isOf := func(scripts ...*unicode.RangeTable) bool {
		return !strings.ContainsFunc(name, func(c rune) bool {
			return !unicode.In(c, unicode.Common, unicode.Inherited) && !unicode.In(c, scripts...)
		})
	}
	for _, scripts := range writtenTogether {
		if isOf(scripts...) {
			return false
		}
	}
	for _, script := range unicode.Scripts {
		if isOf(script) {
			return false
		}
	}
	return true
}

// IsHidden reports whether a character cannot be seen or looks like a space: control and format characters,
// white space other than the space, fillers, variation selectors, and code points without a meaning.
func IsHidden(c rune) bool {
	const brailleBlank, nullNotehead, khitanFiller = '\u2800', '\U0001D159', '\U00016FE4'
	switch {
	case c == ' ':
		return false
	case c == utf8.RuneError, c == brailleBlank, c == nullNotehead, c == khitanFiller,
		!unicode.IsGraphic(c), unicode.IsSpace(c):
		return true
	}
	return unicode.In(c, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
