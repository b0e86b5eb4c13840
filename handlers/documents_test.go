package handlers

import (
	"encoding/json"
	"strings"
	"testing"
)

// A client may have malformed documents listed beside the others. They count among the 500.
func (s *shop) checkSkipping(t *testing.T) {
	const path = "/blocklist/check?skip_malformed=1"
	csv := []string{"Content-Type", "text/csv"}
	for _, c := range []struct {
		body, want string
		header     []string
	}{
		{`["4509,000001","1234,1234567","","4509,000600","4509,000002"]`,
			`{"listed":["4509,000001","4509,000002"],"malformed":[2,3]}`, nil},
		{"PASSP_SERIES,PASSP_NUMBER\nx\n\n4509,000001\r\n4509;000001\n",
			`{"listed":["4509,000001"],"malformed":[2,5]}`, csv},
		{`["4509,000600"]`, `{"listed":[],"malformed":[]}`, nil},
		{strings.Repeat("4509,000600\n", documentsMax-1) + "x", `{"listed":[],"malformed":[500]}`, csv},
	} {
		s.expect(t, 2, "POST", path, c.body, 200, c.want, c.header...)
	}
	s.expect(t, 2, "POST", path, `["4509,000001",null]`, 400, malformed)
	most := strings.Repeat("4509,000600\n", documentsMax)
	s.expect(t, 2, "POST", path, most+"x", 413, tooManyDocuments, csv...)
	s.expect(t, 2, "POST", path, "", 400, empty)
	s.expect(t, 2, "POST", "/blocklist/check?skip_malformed=0", `["x"]`, 400, malformedLine(1))
}

// Without a type, or with one that is neither CSV nor JSON, such as that of a form, which curl sends, the
// body tells whether it is CSV.
func (s *shop) checkBare(t *testing.T) {
	for _, kind := range []string{"", "application/x-www-form-urlencoded", "text/plain"} {
		for body, want := range map[string]string{
			"4509,000001\n4509,000600":                         "4509,000001\n",
			"\ufeff\r\n4509,000001\r\n":                        "4509,000001\n",
			"PASSP_SERIES,PASSP_NUMBER\r\n4509,000001\r\n\r\n": "4509,000001\n",
			` ["4509,000001"]`:                                 `["4509,000001"]`,
			"\n\ufeff4509,000001":                              malformed,
			"x,y":                                              malformed,
			"4509,000001\nx":                                   malformedLine(2),
			"PASSP_SERIES,PASSP_NUMBER\nPASSP_SERIES,PASSP_NUMBER\n": malformedLine(2),
		} {
			if _, got, _ := s.call(t, 2, "POST", "/blocklist/check", body, "Content-Type", kind); got != want {
				t.Errorf("%q as %q: got %q, want %q", body, kind, got, want)
			}
		}
	}
	s.expect(t, 2, "POST", "/blocklist/check", "4509,000001", 400, malformed, "Content-Type",
		"application/json")
}

// A body is read without a fault, and each of its documents comes back once: as one to look up, or as
// malformed. Strictly read it is refused where anything is malformed.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte("PASSP_SERIES,PASSP_NUMBER\r\n4509,000001\n\nx\n"))
	f.Add([]byte(`["4509,000001","x"]`))
	f.Add([]byte("\ufeff\n4509,000001"))
	f.Fuzz(func(t *testing.T, body []byte) {
		csv := isCSV(nil, body)
		var documents []string
		if csv {
			for line := range strings.SplitSeq(strings.TrimPrefix(string(body), "\ufeff"), "\n") {
				if line = strings.TrimSuffix(line, "\r"); line != "" {
					documents = append(documents, line)
				}
			}
			if documents[0] == string(documentHeader) {
				documents = documents[1:]
			}
		} else if json.Unmarshal(body, &documents) != nil {
			documents = nil
		}
		skipping, strict := inquiry{skip: true}, inquiry{}
		refused := skipping.read(body, csv)
		if n := skipping.count + len(skipping.malformed); refused == nil && n != len(documents) ||
			refused == errTooManyDocuments && len(documents) <= documentsMax {
			t.Errorf("%q: %d documents of %d, %v", body, n, len(documents), refused)
		}
		wrong := refused != nil || len(skipping.malformed) > 0
		if got := strict.read(body, csv); (got != nil) != wrong {
			t.Errorf("%q: strictly read %v, want refused %v", body, got, wrong)
		}
	})
}
