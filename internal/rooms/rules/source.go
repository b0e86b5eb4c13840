package rules

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is the text of the main file, which comes first, and of the files that it names.
type Source struct{ Files []File }

// Bytes is the source for Unpack.
func (s *Source) Bytes() []byte {
	packed, _ := json.Marshal(s) // texts can always be written
	return packed
}

// Unpack is the reverse of Bytes.
func Unpack(packed []byte) (*Source, error) {
	s := &Source{}
	if err := json.Unmarshal(packed, s); err != nil {
		return nil, fmt.Errorf("cannot read packed rules: %w", err)
	}
	return s, nil
}

// File is a file by the name that faults tell.
type File struct{ Name, Text string }

// Read reads the main file and the files that it names, which are in its folder or below. It checks
// nothing else.
func Read(name string) (*Source, error) {
	s := &Source{}
	if err := s.add(name); err != nil {
		return nil, err
	}
	lines := newLines(s.Files[0].Text)
	for {
		fields, line, err := lines.next()
		if err != nil { // the end, or a fault that Parse tells
			return s, nil
		}
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == fields[0] })
		if i < 0 || !strings.HasSuffix(kinds[i].fields, "file") || len(fields) <= kinds[i].least {
			continue
		}
		local := fields[kinds[i].least]
		if !filepath.IsLocal(local) { // a fault in a file quotes its line
			return nil, place{name, line}.fault(fmt.Errorf("%q is not in the folder of the rules", local))
		}
		file := s.path(local)
		if _, there := s.text(file); there {
			continue
		}
		if err := s.add(file); err != nil {
			return nil, place{name, line}.fault(err)
		}
	}
}

// add reads a file, within BytesMax of all files.
func (s *Source) add(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot read the rules: %w", err)
	}
	defer file.Close()
	room := int64(BytesMax)
	for _, other := range s.Files {
		room -= int64(len(other.Text))
	}
	text, err := io.ReadAll(io.LimitReader(file, room+1))
	if err != nil {
		return fmt.Errorf("cannot read the rules: %w", err)
	}
	if int64(len(text)) > room {
		return fmt.Errorf("the rules have more than %d bytes", BytesMax)
	}
	s.Files = append(s.Files, File{name, string(text)})
	return nil
}

// path is the name of a file that the main file names.
func (s *Source) path(name string) string {
	return filepath.Join(filepath.Dir(s.Files[0].Name), name)
}

func (s *Source) text(name string) (text string, there bool) {
	for _, file := range s.Files {
		if file.Name == name {
			return file.Text, true
		}
	}
	return "", false
}

// lines reads the lines of a file.
type lines struct{ *csv.Reader }

func newLines(text string) lines {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff"))) // a mark of spreadsheets
	r.Comment, r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = '#', -1, true, true
	return lines{r}
}

// next returns the fields of the next line without spaces around them, and its number. The fields are good
// until the call after it. Errors: io.EOF, *csv.ParseError.
func (l lines) next() (fields []string, number int, err error) {
	if fields, err = l.Read(); err != nil {
		return nil, 0, err
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	number, _ = l.FieldPos(0)
	return fields, number, nil
}

// version is 16 hex digits of a hash over all files: servers of one sale should have the same.
func (s *Source) version() string {
	hash := sha256.New()
	for _, file := range s.Files {
		fmt.Fprintf(hash, "%d:%s", len(file.Text), file.Text)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
