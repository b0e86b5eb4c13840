package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/internal/catalog"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/testkit"
	"flashsale/redisx/redistest"
)

const (
	documentInvalid  = `{"code":"DOCUMENT_INVALID","message":"证件无效"}`
	tooManyDocuments = `{"code":"TOO_MANY_DOCUMENTS","message":"一次最多查询500个证件"}`
)

func malformedLine(n int) string {
	return fmt.Sprintf(`{"code":"MALFORMED_DOCUMENT","message":"第%d行不是证件号"}`, n)
}

// newBlocklist imports the documents 4509,000000 to 4509,000599, two malformed rows and 0001,000002.
func newBlocklist(t *testing.T) *blocklist.Blocklist {
	t.Helper()
	testkit.Need(t, "bzip2")
	folder := t.TempDir()
	text := "PASSP_SERIES,PASSP_NUMBER\n0001,000002\n1234,1234567\nx\n"
	for i := range 600 {
		text += fmt.Sprintf("4509,%06d\n", i)
	}
	list := filepath.Join(folder, "list.bz2")
	cmd := exec.Command("bzip2", "-c")
	cmd.Stdin = strings.NewReader(text)
	packed, err := cmd.Output()
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(list, packed, 0o600))
	date := time.Unix(1_700_000_000, 0)
	testkit.Must(t, os.Chtimes(list, date, date))
	keeper, err := blocklist.NewKeeper(blocklist.Config{Source: list, Refresh: time.Hour,
		Path: filepath.Join(folder, "snapshot")})
	testkit.Must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- keeper.Run(ctx) }()
	var b *blocklist.Blocklist
	testkit.Until(t, "snapshot", func() bool {
		b = blocklist.New(filepath.Join(folder, "snapshot"))
		return b.List() != nil
	})
	stop()
	testkit.Must(t, <-ended)
	return b
}

// As long as there is no list its calls are refused, and everybody can log in.
func TestBlocklistWithoutList(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		s.join(Blocklist(blocklist.New(filepath.Join(t.TempDir(), "none"))))
		s.expect(t, 2, "POST", "/blocklist/check", `["4509,000001"]`, 503, unavailable)
		s.expect(t, 2, "GET", "/blocklist", "", 503, unavailable)
		status, body, _ := s.call(t, 0, "POST", "/login", `{"username":"user2","password":"pass2"}`)
		if status != 200 {
			t.Errorf("login %d %s", status, body)
		}
	})
}

func TestBlocklistCalls(t *testing.T) {
	b := newBlocklist(t)
	onBoth(t, func(t *testing.T, s *shop) {
		s.join(Blocklist(b))
		s.checkArrays(t)
		s.checkCSV(t)
		s.checkSkipping(t)
		s.checkBare(t)
		s.expect(t, 0, "POST", "/blocklist/check", `["4509,000001"]`, 401, invalidToken)
		s.expect(t, 0, "GET", "/blocklist", "", 401, invalidToken)
		status, body, _ := s.call(t, 0, "GET", "/blocklist", "", "Authorization", "Bearer "+serviceToken)
		want := fmt.Sprintf(`{"rows":603,"malformed":2,"stored":601,"source_date":"2023-11-14T22:13:20Z",`+
			`"imported":%q,"memory_bytes":%d}`,
			time.UnixMilli(b.List().Info().Imported).UTC().Format(time.RFC3339), b.List().Bytes())
		if status != 200 || body != want {
			t.Errorf("GET /blocklist: %d %s, want %s", status, body, want)
		}
	})
}

func (s *shop) checkArrays(t *testing.T) {
	const path = "/blocklist/check"
	s.expect(t, 2, "POST", path, `["4509,000001","4509,000600","0001,000002"]`, 200,
		`["4509,000001","0001,000002"]`)
	s.expect(t, 2, "POST", path, `["4509,000600"]`, 204, "")
	s.expect(t, 2, "POST", path, `[]`, 204, "")
	s.expect(t, 2, "POST", path, "", 400, empty)
	for _, body := range []string{"null", "{}", `"4509,000001"`, "[4509]", "[null]", "[", `[["4509,000001"]]`,
		`["4509,000001"]x`} {
		s.expect(t, 2, "POST", path, body, 400, malformed)
	}
	s.expect(t, 2, "POST", path, `["4509,000001","1234,1234567"]`, 400, malformedLine(2))
	var most []string
	for i := range documentsMax {
		most = append(most, fmt.Sprintf(`"4509,%06d"`, i))
	}
	all := "[" + strings.Join(most, ",") + "]"
	s.expect(t, 2, "POST", path, all, 200, all)
	s.expect(t, 2, "POST", path, `["4509,000001",`+all[1:], 413, tooManyDocuments)
}

func (s *shop) checkCSV(t *testing.T) {
	csv := func(body string, status int, want, kind string) {
		t.Helper()
		gotStatus, got, header := s.call(t, 2, "POST", "/blocklist/check", body,
			"Content-Type", "text/csv; charset=utf-8")
		if gotStatus != status || got != want || header.Get("Content-Type") != kind {
			t.Errorf("%.60q: got %d %.80q %s, want %d %.80q %s", body, gotStatus, got,
				header.Get("Content-Type"), status, want, kind)
		}
	}
	const json = "application/json"
	csv("4509,000001\n4509,000600\n0001,000002\n", 200, "4509,000001\n0001,000002\n", "text/csv")
	csv("PASSP_SERIES,PASSP_NUMBER\r\n4509,000001\r\n4509,000002", 200,
		"4509,000001\n4509,000002\n", "text/csv")
	csv("\ufeffPASSP_SERIES,PASSP_NUMBER\r\n4509,000001\r\n", 200, "4509,000001\n", "text/csv")
	csv("\ufeff4509,000001\n", 200, "4509,000001\n", "text/csv")
	csv("4509,000600\n", 204, "", "")
	csv("", 400, empty, json)
	csv("4509,000001\n1234,1234567\n", 400, malformedLine(2), json)
	csv("PASSP_SERIES,PASSP_NUMBER\nx\n", 400, malformedLine(2), json)
	csv("\n4509,000001\n\r\n\n4509,000600\n\n", 200, "4509,000001\n", "text/csv")
	csv("\r\nPASSP_SERIES,PASSP_NUMBER\r\n\r\n4509,000001", 200, "4509,000001\n", "text/csv")
	csv("\n\n", 204, "", "")
	csv("4509,000001\n\n \n", 400, malformedLine(3), json)
	csv("4509,000001\nPASSP_SERIES,PASSP_NUMBER\n", 400, malformedLine(2), json)
	most := strings.Repeat("4509,000599\n", documentsMax)
	csv(most, 200, most, "text/csv")
	csv(most+"4509,000001\n", 413, tooManyDocuments, json)
	csv(most+"\n\n", 200, most, "text/csv")
}

// A user with a listed document cannot log in; one without, or with another one, can. Neither allocates.
func TestListedUserCannotLogIn(t *testing.T) {
	b := newBlocklist(t)
	folder := t.TempDir()
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "users.csv"), []byte("id,name,password,document\n"+
		"1,root,r,\n2,ann,a,\"4509,000001\"\n3,bob,b,\"4509,000600\"\n4,cid,c,\n"), 0o600))
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "foods.csv"), []byte("id,stock,price\n1,1,1\n"), 0o600))
	users, err := catalog.Load(t.Context(), catalog.Config{Dir: folder})
	testkit.Must(t, err)
	s := open(t, "unix", redistest.Start(t).Socket)
	s.do(func() { s.cfg.Catalog = users })
	s.join(Blocklist(b))
	s.expect(t, 0, "POST", "/login", `{"username":"ann","password":"a"}`, 403, documentInvalid)
	s.expect(t, 0, "POST", "/login", `{"username":"ann","password":"b"}`, 403, authFail)
	for name, status := range map[string]int{"ann": 403, "bob": 200, "cid": 200, "root": 200} {
		got, n := s.allocsOf("POST", "/login", fmt.Sprintf(`{"username":%q,"password":%q}`, name, name[:1]))
		if got != status || n != 0 {
			t.Errorf("%s: status %d, want %d; %v allocations", name, got, status, n)
		}
	}
}

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
// body decides whether it is CSV.
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
