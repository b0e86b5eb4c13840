package handlers

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"flashsale/internal/rooms/live"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

// Who prefers English gets English messages; nobody else does.
func TestEnglishMessages(t *testing.T) {
	s := open(t, "unix", redistest.Start(t).Socket)
	for value, want := range map[string]bool{
		"":                        false,
		"*":                       false,
		"zh":                      false,
		"de":                      false,
		"en":                      true,
		"EN-gb":                   true,
		"en-GB,en;q=0.9,zh;q=0.8": true,
		"zh-CN,en;q=0.5":          false,
		"zh;q=0.1, en;q=0.2":      true,
		"en,zh":                   true,
		"zh,en":                   false,
		"en;q=0":                  false,
		"en;q=x":                  false,
		"fr,en;q=0.1":             true,
		"english":                 false,
		",;q=,":                   false,
	} {
		want := map[bool]string{true: `{"code":"NOT_FOUND","message":"There is no such path."}`,
			false: `{"code":"NOT_FOUND","message":"路径不存在"}`}[want]
		if _, body, _ := s.call(t, 2, "GET", "/x", "", "Accept-Language", value); body != want {
			t.Errorf("%q: %s", value, body)
		}
	}
}

// Every error has an English message, and no other code has one.
func TestEveryErrorHasEnglish(t *testing.T) {
	for _, f := range append(slices.Clone(failures), malformedDocument(1)) {
		if bytes.Equal(f.body, f.english) || len(f.english) == 0 {
			t.Errorf("%s has no English message", f.body)
		}
	}
	if len(english) != len(failures) {
		t.Errorf("%d English messages for %d errors", len(english), len(failures))
	}
}

// The page has a text for every error, in English and in Chinese.
func TestPageHasEveryError(t *testing.T) {
	messages, err := os.ReadFile("web/page/messages.js")
	testkit.Must(t, err)
	chinese, err := os.ReadFile("web/page/zh.js")
	testkit.Must(t, err)
	codeOf := regexp.MustCompile(`"code":"(\w+)"`)
	for _, f := range append(slices.Clone(failures), unknownField(nil, nil)) {
		code := codeOf.FindSubmatch(f.body)[1]
		text := regexp.MustCompile(`(?m)^  ` + string(code) + `: (".*"),$`).FindSubmatch(messages)
		if text == nil || !bytes.Contains(chinese, append([]byte("\n  "), append(text[1], ':')...)) {
			t.Errorf("the page has no text for %s, or only an English one", code)
		}
	}
}

// The page names the refusals that anybody is told of as the live view has them.
func TestPageNamesPublicRefusals(t *testing.T) {
	messages, err := os.ReadFile("web/page/messages.js")
	testkit.Must(t, err)
	block := regexp.MustCompile(`(?s)\nconst figures = \{\n(.*?)\n\};`).FindSubmatch(messages)[1]
	var got []string
	for _, line := range regexp.MustCompile(`(?m)^  (\w+):`).FindAllSubmatch(block, -1) {
		got = append(got, string(line[1]))
	}
	if want := slices.Sorted(maps.Keys(live.Public)); !slices.Equal(got, want) {
		t.Errorf("the page has %q\nwant %q", got, want)
	}
}

func FuzzPrefersEnglish(f *testing.F) {
	f.Add("en-GB,en;q=0.9,zh;q=0.8")
	f.Fuzz(func(t *testing.T, value string) {
		if prefersEnglish(value) && !bytes.Contains(bytes.ToLower([]byte(value)), []byte("en")) {
			t.Errorf("%q prefers English", value)
		}
	})
}
