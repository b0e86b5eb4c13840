package export

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/internal/testkit"
	"flashsale/redisx"
)

func book(format Format, name string) *Book {
	return &Book{Format: format, Sale: "abcdefgh", Prices: []int64{10, 20, 30},
		Names: NamesBy(func(uint32) []byte { return []byte(name) })}
}

// line is an order as the book has it.
func line(t *testing.T, b *Book, order redisx.Order) string {
	t.Helper()
	text, err := b.AppendPage(nil, []redisx.Order{order})
	testkit.Must(t, err)
	return string(text)
}

var order = redisx.Order{User: 7, Items: []redisx.Item{{Food: 3, Count: 2}, {Food: 1, Count: 1}},
	Placed: time.Date(2026, 11, 22, 10, 0, 0, 5_000_000, time.UTC)}

func TestCSV(t *testing.T) {
	const want = "order_id,user_id,user_name,items,prices,total,placed_at\r\n"
	if head := string(book(CSV, "").AppendHead(nil)); head != want {
		t.Errorf("head %q", head)
	}
	for name, field := range map[string]string{
		"ann": "ann", "安娜": "安娜", "": "",
		"a,b": `"a,b"`, `a"b`: `"a""b"`, "a\r\nb": "\"a\r\nb\"", " a": `" a"`, "a\xff": "a\uFFFD",
		"=1+1": `"'=1+1"`, "+1": `"'+1"`, "-1": `"'-1"`, "@sum": `"'@sum"`, "\tx": "\"'\tx\"", "\rx": "\"'\rx\"",
		"＝1": `"'＝1"`, `=cmd|'/c "x"'`: `"'=cmd|'/c ""x""'"`, "a=1": "a=1", "'=1": "'=1",
		"a;b": `"a;b"`, "a;=cmd()": `"a;'=cmd()"`, "a\t=1": "\"a\t'=1\"", "a,-1": `"a,'-1"`, "a\n+1": "\"a\n'+1\"",
		"é;＝1": `"é;'＝1"`,
	} {
		want := "abcdefgh-7,7," + field + ",3=2 1=1,3=30 1=10,70,2026-11-22T10:00:00.005Z\r\n"
		text := line(t, book(CSV, name), order)
		if text != want {
			t.Errorf("name %q:\n got %q\nwant %q", name, text, want)
		}
		row, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil || len(row) != 7 || row[6] != "2026-11-22T10:00:00.005Z" {
			t.Errorf("name %q is read as %q, %v", name, row, err)
		}
	}
}

func TestJSONLines(t *testing.T) {
	const name = "a\"b\n=<安>"
	b := book(JSONLines, name)
	if head := b.AppendHead(nil); len(head) > 0 {
		t.Errorf("head %q", head)
	}
	text := line(t, b, order)
	if !strings.HasSuffix(text, "}\n") || strings.Count(text, "\n") != 1 {
		t.Errorf("no line: %q", text)
	}
	var got struct {
		ID       string
		UserID   int `json:"user_id"`
		Username string
		Items    []struct{ Food_id, Price, Count int }
		Total    int
		PlacedAt string `json:"placed_at"`
	}
	testkit.Must(t, json.Unmarshal([]byte(text), &got))
	if got.ID != "abcdefgh-7" || got.UserID != 7 || got.Username != name || got.Total != 70 ||
		len(got.Items) != 2 || got.Items[0].Food_id != 3 || got.Items[0].Price != 30 || got.Items[0].Count != 2 ||
		got.PlacedAt != "2026-11-22T10:00:00.005Z" {
		t.Errorf("%+v", got)
	}
}

// put writes a file with the text, and with an error at its end.
func put(path, text string, err error) error {
	return WriteFile(path, func(w io.Writer) error {
		_, writing := io.WriteString(w, text)
		return errors.Join(writing, err)
	})
}

// A file is replaced by a whole text only, and nothing else is left in its folder.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.csv")
	check := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		entries, _ := os.ReadDir(filepath.Dir(path))
		if err != nil || string(text) != want || len(entries) != 1 {
			t.Errorf("the file is %q, %v, in a folder of %d; want %q", text, err, len(entries), want)
		}
	}
	testkit.Must(t, put(path, "whole", nil))
	check("whole")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	broken := errors.New("cut off")
	if err := put(path, "a part", broken); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	check("whole")
	testkit.Must(t, put(path, "another", nil))
	check("another")
	if err := put(filepath.Join(path, "below"), "", nil); err == nil {
		t.Error("a file below a file is written")
	}
}

// A link stays where it is, and the file behind it is replaced; a pipe is written to.
func TestWriteFileKeepsLinksAndPipes(t *testing.T) {
	dir := t.TempDir()
	file, link, broken := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "broken")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Symlink("file", link),
		os.Symlink("nothing", broken)); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, put(link, "whole", nil))
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "whole" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
	const toNothing = "it is a symbolic link to nothing"
	if err := put(broken, "whole", nil); err == nil || !strings.HasSuffix(err.Error(), toNothing) {
		t.Errorf("a link to nothing: %v", err)
	}
	if err := put(dir, "whole", nil); err == nil {
		t.Error("a folder is written")
	}

	pipe := filepath.Join(dir, "pipe")
	testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that no open of it waits for the other
	testkit.Must(t, err)
	defer reader.Close()
	testkit.Must(t, put(pipe, "whole", nil))
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Fatalf("in the place of the pipe there is %v, %v", info, err)
	}
	text := make([]byte, 10)
	if n, err := reader.Read(text); err != nil || string(text[:n]) != "whole" {
		t.Errorf("from the pipe comes %q, %v", text[:n], err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// The README shows both formats as they are.
func TestReadmeShowsFormats(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	testkit.Must(t, err)
	order := redisx.Order{User: 2, Items: []redisx.Item{{Food: 1, Count: 2}, {Food: 3, Count: 1}},
		Placed: time.Date(2026, 11, 22, 10, 0, 0, 123_000_000, time.UTC)}
	for _, format := range []Format{CSV, JSONLines} {
		b := Book{Format: format, Sale: "zv2hq6ya", Prices: []int64{12, 5, 21},
			Names: NamesBy(func(uint32) []byte { return []byte("user2") })}
		text := strings.ReplaceAll(string(b.AppendHead(nil))+line(t, &b, order), "\r\n", "\n")
		if !strings.Contains(string(readme), "```\n"+text+"```\n") {
			t.Errorf("the README does not show\n%s", text)
		}
	}
}
