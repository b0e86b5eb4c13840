package credentials

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Names that look alike are one name; a name is shown as NFKC.
func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{ // as it is shown, and folded
		"alice":                 {"alice", "alice"},
		"Alice":                 {"Alice", "alice"},
		"Ａｌｉｃｅ":                 {"Alice", "alice"},
		"ﬁsh":                   {"fish", "fish"},
		"STRASSE":               {"STRASSE", "strasse"},
		"Straße":                {"Straße", "strasse"},
		"re\u0301ne\u0301":      {"réné", "réné"},
		"Ο∆ΥΣΣΕΥΣ":              {"Ο∆ΥΣΣΕΥΣ", "ο∆υσσευσ"},
		"οδυσσευς":              {"οδυσσευς", "οδυσσευσ"},
		"张伟三":                   {"张伟三", "张伟三"},
		"a1 b":                  {"a1 b", "a1 b"},
		"x²y":                   {"x2y", "x2y"},
		"İstanbul":              {"İstanbul", "i̇stanbul"},
		"ГОСТ":                  {"ГОСТ", "гост"},
		"12a":                   {"12a", "12a"},
		strings.Repeat("n", 32): {strings.Repeat("n", 32), strings.Repeat("n", 32)},
		"😀😀😀":                   {"😀😀😀", "😀😀😀"},
		"Tanakaさん 田中ー":          {"Tanakaさん 田中ー", "tanakaさん 田中ー"},
		"Kim 김 金":               {"Kim 김 金", "kim 김 金"},
		"李 ㄌㄧ li":               {"李 ㄌㄧ li", "李 ㄌㄧ li"},
		"Анна-1 😀":              {"Анна-1 😀", "анна-1 😀"},
		"नमस्ते":                {"नमस्ते", "नमस्ते"},
	} {
		shown, folded, err := Name(name)
		if err != nil || shown != want[0] || folded != want[1] {
			t.Errorf("%q: %q, %q, %v; want %q", name, shown, folded, err, want)
		}
	}
	for _, name := range []string{
		"", "ab", "123", "12345678", "١٢٣", "１２３", "①②③", strings.Repeat("n", 33), "a\u00a0b", "a\u2003b", "a\tb",
		"ab\n", "a\x00b", "a\u200bb", "a\u202eb", "a\ufeffb", "a\u00adb", " ab", "ab ", "a  b", "a/b", "a／b",
		"a\u2800b", "a\U0001d159b", "a\U00016fe4b", "a\u3164b", "a\ufe0fb", "a\U000e0101b",
		"a\u034fb", "\xff\xfe\xfd", "a\ufffdb", "\ufdfa\ufdfa",
		"a\u0378b", "a\ue000b", "a\u2028b", strings.Repeat("ß", 17), strings.Repeat("n", 1000),
	} {
		if shown, _, err := Name(name); !errors.Is(err, ErrBadName) {
			t.Errorf("%q is taken as %q, %v", name, shown, err)
		}
	}
	for _, name := range []string{
		"r\u043eot", "\u0430dmin", "\u03bfdysseus", "user\u04352", "анна\u03bf", "µTorrent", "Ωmega", "김さん",
		"李김さ", "aش2", "ro\u1e9eo\u0455", "ab\u0345c",
	} {
		if shown, _, err := Name(name); !errors.Is(err, ErrMixedName) {
			t.Errorf("%q is taken as %q, %v", name, shown, err)
		}
	}
}

// Folding twice folds nothing more, and what is shown is a name that is the same user's.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{"alice", "ALICE", "Straße", "ﬁsh", "\u0345\u0301",
		"İI\u0307", "K\u0327Å", "\u1e9e", "ΐ", "\ufdfa", "r\u043eot", "ab\u0345c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		folded := Fold(name)
		if again := Fold(folded); again != folded {
			t.Fatalf("%q: %q, folded again %q", name, folded, again)
		}
		shown, key, err := Name(name)
		if err != nil {
			return
		}
		if shown2, key2, err := Name(shown); err != nil || shown2 != shown || key2 != key {
			t.Fatalf("%q is shown as %q, which is %q, %q, %v", name, shown, shown2, key2, err)
		}
		if _, key2, err := Name(key); err != nil || key2 != key || key != folded {
			t.Fatalf("%q: %q is folded, then %q, %v; want %q", name, key, key2, err, folded)
		}
		if n := utf8.RuneCountInString(key); n < nameMin || n > nameMax {
			t.Fatalf("%q has %d characters", key, n)
		}
	})
}
