package blocklist

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"flashsale/internal/testkit"
)

// pack packs a text as the list is packed.
func pack(tb testing.TB, text string) []byte {
	tb.Helper()
	testkit.Need(tb, "bzip2")
	cmd := exec.Command("bzip2", "-c", "-1")
	cmd.Stdin = strings.NewReader(text)
	packed, err := cmd.Output()
	testkit.Must(tb, err)
	return packed
}

// csv is a list of documents.
func csv(documents ...string) string { return header + "\n" + strings.Join(documents, "\n") + "\n" }

// build reads a list in plain text.
func build(tb testing.TB, text string) *builder {
	tb.Helper()
	testkit.KeepLog(tb)
	b := &builder{}
	testkit.Must(tb, b.read(context.Background(), strings.NewReader(text)))
	return b
}

// save writes the snapshot of a list in plain text.
func save(tb testing.TB, path, text string, imported int64) {
	tb.Helper()
	b := build(tb, text)
	info := Info{Rows: b.rows, Malformed: b.malformed, Stored: b.finish(), Imported: imported}
	write := func(w io.Writer) error { return writeSnapshot(w, info, &b.bitmaps) }
	testkit.Must(tb, replaceSnapshot(path, write))
}

func document(tb testing.TB, text string) Document {
	tb.Helper()
	d, ok := ParseDocument([]byte(text))
	if !ok {
		tb.Fatalf("%q is no document", text)
	}
	return d
}

func TestParseDocument(t *testing.T) {
	for text, want := range map[string]Document{
		"0000,000000": 0, "0001,000002": 1_000_002, "9999,999999": 9_999_999_999, "4509,123456": 4_509_123_456,
	} {
		if got := document(t, text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	for place := range documentBytes { // every byte at every place
		for c := range 256 {
			text := []byte("1234,567890")
			text[place] = byte(c)
			d, ok := ParseDocument(text)
			if ok != documentLine.Match(text) || ok && string(d.Append(nil)) != string(text) {
				t.Errorf("%q is read as %d, %v", text, d, ok)
			}
		}
	}
	for _, text := range []string{"", ",", "1234,1234567", "12345,123456", "1234,12345", "123,123456",
		" 1234,123456", "1234,123456 ", "1234;123456", "1234123456,", "123a,123456", "1234,12345/",
		"1234,12345:", "-234,123456", "1234,123456\n", "１234,123456", header} {
		if d, ok := ParseDocument([]byte(text)); ok {
			t.Errorf("%q is read as %d", text, d)
		}
	}
}

// A list in any order, with repeats, runs across the ends of series and of roaring's containers, and
// malformed rows gives exactly its documents.
func TestListHoldsExactlyItsDocuments(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	want := map[Document]bool{}
	var rows []string
	add := func(d Document) {
		want[d] = true
		rows = append(rows, fmt.Sprintf("%04d,%06d", d.series(), d.number()))
	}
	for range 100 { // runs, some across the end of a series
		from := Document(dice.IntN(4)*numbersCount + dice.IntN(numbersCount))
		for i := range Document(dice.IntN(400)) {
			add(from + i)
		}
	}
	for range 5_000 {
		add(Document(dice.IntN(seriesCount * numbersCount)))
	}
	for d := range Document(2 * packAfter) {
		add(77*numbersCount + 65_536 - packAfter + d)
	}
	rows = append(rows, "1234,1234567", "", "x", strings.Repeat("9", bufferBytes/2), rows[0], rows[1])
	dice.Shuffle(len(rows)/2, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	b := build(t, strings.ReplaceAll(csv(rows...), "\n", "\r\n"))
	if int(b.rows) != len(rows) || b.malformed != 4 {
		t.Errorf("%d rows, %d malformed; want %d and 4", b.rows, b.malformed, len(rows))
	}
	path := filepath.Join(t.TempDir(), "snapshot")
	save(t, path, csv(rows...), 5)
	list, err := Open(path)
	testkit.Must(t, err)
	if info := list.Info(); int(info.Stored) != len(want) || info.Imported != 5 {
		t.Errorf("info %+v, want %d stored", info, len(want))
	}
	for d := range want {
		for _, near := range []Document{d - 1, d, d + 1} {
			if near < seriesCount*numbersCount && list.Contains(near) != want[near] {
				t.Fatalf("%d is listed: %v", near, !want[near])
			}
		}
	}
	if list.Contains(seriesCount*numbersCount) || list.Contains(1<<63) {
		t.Error("what is no document is listed")
	}
}

// Run looks by itself.
func TestRunTakesNewSnapshots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot")
	b := New(path)
	testkit.Background(t, b.Run)
	save(t, path, csv("0001,000001"), 1)
	testkit.Until(t, "new list", func() bool { return b.Listed(numbersCount + 1) })
}

func TestReadRefusesWhatIsNoList(t *testing.T) {
	for _, text := range []string{"", "\n", "<html>", "1234,123456\n", "PASSP_SERIES,PASSP_NUMBERS\n"} {
		err := (&builder{}).read(context.Background(), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), "must begin with "+header) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A line without an end is refused when the buffer is full, and the rest is not read.
func TestEndlessLineIsRefused(t *testing.T) {
	text := strings.NewReader(header + "\n" + strings.Repeat("9", 4*bufferBytes))
	err := (&builder{}).read(context.Background(), text)
	if err == nil || !strings.HasSuffix(err.Error(), "a line is longer than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
	if text.Len() < 2*bufferBytes {
		t.Errorf("%d bytes are left unread", text.Len())
	}
}

// A worker takes a new snapshot while it answers from the old one, keeps the old one where the new one is
// corrupt or gone, and gives the memory of old ones back.
func TestWorkerTakesNewSnapshots(t *testing.T) {
	testkit.KeepLog(t)
	path := filepath.Join(t.TempDir(), "snapshot")
	b := New(path)
	if b.List() != nil || b.Listed(1) {
		t.Error("a list without a snapshot")
	}
	for i := range 5 {
		save(t, path, csv(fmt.Sprintf("0001,%06d", i)), int64(i+1))
		b.remap()
		if !b.Listed(numbersCount+Document(i)) || i > 0 && b.Listed(numbersCount+Document(i-1)) {
			t.Error("the new list is not the one in use")
		}
	}
	testkit.Must(t, os.WriteFile(path+"x", []byte("no snapshot"), 0o600))
	testkit.Must(t, os.Rename(path+"x", path))
	b.remap()
	testkit.Must(t, os.Remove(path))
	b.remap()
	testkit.Until(t, "memory given back", func() bool {
		runtime.GC()
		maps, err := os.ReadFile("/proc/self/maps")
		return err == nil && bytes.Count(maps, []byte(path)) == 1
	})
	if !b.Listed(numbersCount + 4) {
		t.Error("the list is gone with its file")
	}
}

// Not one changed or missing byte of a snapshot passes.
func TestCorruptSnapshotIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot")
	save(t, path, csv("1234,123456", "1234,123457", "1234,123458"), 1)
	whole, err := os.ReadFile(path)
	testkit.Must(t, err)
	for i := range whole {
		if i > headerBytes+infoBytesMax/8 && i < len(whole)-100 && i%97 != 0 {
			continue // zeros of the index
		}
		changed := slices.Clone(whole)
		changed[i] ^= 0x10
		if _, err := view(changed); err == nil {
			t.Fatalf("byte %d is changed, and nothing found", i)
		}
		if _, err := view(whole[:i]); err == nil {
			t.Fatalf("%d of %d bytes are taken", i, len(whole))
		}
	}
}

// A snapshot that is cut short between mapping and reading is an error, and does not end the process.
func TestSnapshotCutWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot")
	save(t, path, csv("1234,123456"), 1)
	file, err := os.Open(path)
	testkit.Must(t, err)
	defer file.Close()
	mapping, err := unix.Mmap(int(file.Fd()), 0, 2*indexBytes, unix.PROT_READ, unix.MAP_SHARED)
	testkit.Must(t, err)
	defer unix.Munmap(mapping)
	testkit.Must(t, os.Truncate(path, 0))
	_, err = viewMapped(mapping)
	if err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("error %v", err)
	}
}

func TestListedDoesNotAllocate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot")
	save(t, path, csv("1234,123456"), 1)
	b := New(path)
	text, documents, listed := []byte("1234,123456"), make([]Document, 500), make([]bool, 500)
	documents[499] = document(t, "1234,123456")
	if n := testkit.Allocations(func() {
		b.List().Mark(documents, listed)
		if d, ok := ParseDocument(text); !ok || !b.Listed(d) || !listed[499] {
			t.Error("not listed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A fault that may pass, such as too many open files, does not keep a worker from its list for ever.
func TestWorkerTriesAgain(t *testing.T) {
	testkit.KeepLog(t)
	path := filepath.Join(t.TempDir(), "snapshot")
	save(t, path, csv("0001,000001"), 1)
	b := &Blocklist{path: path}
	var limit unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0
	testkit.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
	b.remap()
	testkit.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if b.List() != nil {
		t.Fatal("a list was opened without a file descriptor")
	}
	if b.remap(); !b.Listed(numbersCount + 1) {
		t.Error("the worker does not try again")
	}
}
