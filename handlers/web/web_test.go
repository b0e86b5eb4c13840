package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"flashsale/handlers/web"
)

// Each worker has the page, so to make it takes little memory: no compressor for each file.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := web.New([]byte("[]"), web.Brand{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3<<20 {
		t.Errorf("to make the page takes %d bytes", n)
	} else {
		t.Logf("to make the page takes %d bytes", n)
	}
}

// Each file is there in both codings with a tag of its own, and every file that another one names exists.
func TestSite(t *testing.T) {
	site, err := web.New([]byte("[]"), web.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	named := regexp.MustCompile(`(?:"/web/|from "\./)([a-z.-]+)"`)
	found := 0
	for _, entry := range entries {
		name := entry.Name()
		file := site.File(name)
		if file == nil {
			t.Fatalf("%s is not served", name)
		}
		r, err := gzip.NewReader(bytes.NewReader(file.Zipped.Body))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || !bytes.Equal(text, file.Plain.Body) {
			t.Errorf("%s is another file when it is compressed: %v", name, err)
		}
		for _, form := range []web.Form{file.Plain, file.Zipped} {
			if other := tags[form.ETag]; other != "" || len(form.ETag) != 34 || len(form.Body) == 0 {
				t.Errorf("%s has %d bytes and the tag %s, as has %q", name, len(form.Body), form.ETag, other)
			}
			tags[form.ETag] = name
		}
		if isForeign(name) {
			continue
		}
		for _, match := range named.FindAllSubmatch(file.Plain.Body, -1) {
			found++
			if site.File(string(match[1])) == nil {
				t.Errorf("%s names %s, which is not there", name, match[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d names were found in the files", found)
	}
	if site.File("gone.js") != nil || site.File("../web.go") != nil || site.File("") != nil {
		t.Error("a file that is not of the page is served")
	}
}

// Nothing of the page comes from elsewhere, and no text is ever taken for HTML or for a script.
func TestPageIsPlain(t *testing.T) {
	entries, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`https?://`)
	const namespace = "www.w3.org/2000/svg"
	unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|` +
		`new Function|javascript:|\son[a-z]+="|\sstyle="|document\.cookie|<style|<script>`)
	for _, entry := range entries {
		name := entry.Name()
		if isForeign(name) {
			continue
		}
		text, err := os.ReadFile("page/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range strings.Split(string(text), "\n") {
			if unsafe.MatchString(line) || foreign.MatchString(line) && !strings.Contains(line, namespace) {
				t.Errorf("%s:%d: %s", name, number+1, line)
			}
			if len([]rune(line)) >= 120 {
				t.Errorf("%s:%d is longer than 120 columns", name, number+1)
			}
		}
	}
}

// isForeign reports whether a file is of a library, which is embedded as it is.
func isForeign(name string) bool {
	return strings.HasPrefix(name, "uplot") || strings.HasPrefix(name, "centrifuge") || name == "lean-qr.js"
}
