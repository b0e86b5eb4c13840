// Package web holds the files of the page at /, ready to be sent. The files in the folder page are sent as
// they are: there is no build step, and the page loads nothing from elsewhere.
//
// The package knows nothing of HTTP calls or of the sale. The page is a client of the API like any other.
package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"path"
	"regexp"
	"strings"
)

//go:embed page
var embedded embed.FS

// Index is the file that is served at /.
const Index = "index.html"

// types maps file extensions to media types.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".jpg":  "image/jpeg",
	".json": "application/json",
	".txt":  "text/plain; charset=utf-8",
}

// File is a file in its codings.
type File struct {
	Type          string // media type
	Plain, Zipped Form   // Zipped has no body where it is not smaller
}

// Form is a file in one coding, with its strong entity tag.
type Form struct {
	Body []byte
	ETag string
}

// Site is a set of files by name.
type Site struct {
	files map[string]*File

	// Scripts and Styles are the hashes of those that stand in the page itself, as its policy names them.
	Scripts, Styles []string

	Icon string // the name of the file that browsers show beside the title
}

// What a server may have, as the page learns it from an attribute of its document.
const (
	Chat      = "chat"      // people can write to each other
	Operators = "operators" // they can log in
	Root      = "root"      // root, user 1, may do all that operators may
	Rules     = "rules"     // orders are placed under rules of a purchase
	Provider  = "provider"  // operators can log in there; it stands as provider=name
)

// New reads the files that are embedded in the program. catalogue is the file catalogue.json, which tells
// the page what is sold; brand is whose shop it is; has are some of Chat, Operators and so on.
func New(catalogue []byte, brand Brand, has ...string) (*Site, error) {
	const folder = "page"
	entries, err := embedded.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot read the page: %w", err)
	}
	files := map[string][]byte{"catalogue.json": catalogue}
	for _, entry := range entries {
		body, err := embedded.ReadFile(path.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("cannot read the page: %w", err)
		}
		files[entry.Name()] = body
	}
	for _, thing := range has {
		name, value, _ := strings.Cut(thing, "=")
		off := []byte("data-" + name + `="off"`)
		on := fmt.Appendf(nil, `data-%s="%s"`, name, html.EscapeString(cmp.Or(value, "on")))
		files[Index] = bytes.Replace(files[Index], off, on, 1)
	}
	icon := brand.put(files)
	var scripts, styles []string
	files[Index], styles = inline(files[Index], styleLink, "style", files)
	files[Index], scripts = inline(files[Index], scriptLink, "script", files)
	s, err := Of(files)
	if err != nil {
		return nil, err
	}
	s.Scripts, s.Styles, s.Icon = scripts, styles, icon
	return s, nil
}

// What the first paint waits for. A script of a module is not: it runs later.
var (
	styleLink  = regexp.MustCompile(`<link rel="stylesheet" href="/web/([\w.-]+)">`)
	scriptLink = regexp.MustCompile(`<script src="/web/([\w.-]+)"></script>`)
)

// inline puts the linked files into the page: on a slow network they would cost another second. It returns
// the page and the hashes of what was put in.
func inline(page []byte, link *regexp.Regexp, element string, files map[string][]byte) ([]byte, []string) {
	var hashes []string
	whole := link.ReplaceAllFunc(page, func(tag []byte) []byte {
		body := files[string(link.FindSubmatch(tag)[1])]
		hashes = append(hashes, Hash(body))
		return fmt.Appendf(nil, "<%[1]s>%[2]s</%[1]s>", element, body)
	})
	return whole, hashes
}

// Hash is how a policy names a script or a style sheet that stands in a page.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Of makes a Site of files by name. Their bodies must not change any more.
func Of(files map[string][]byte) (*Site, error) {
	// One for all files: each takes almost a megabyte, and every worker would keep it.
	zip, err := gzip.NewWriterLevel(io.Discard, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("cannot compress files: %w", err)
	}
	s := &Site{files: map[string]*File{}}
	for name, body := range files {
		if s.files[name], err = newFile(name, body, zip); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// File returns the file of that name, nil without one.
func (s *Site) File(name string) *File { return s.files[name] }

func newFile(name string, body []byte, zip *gzip.Writer) (*File, error) {
	kind, known := types[path.Ext(name)]
	if !known {
		return nil, fmt.Errorf("the file %s is of a kind that has no media type here", name)
	}
	var zipped bytes.Buffer
	zip.Reset(&zipped)
	_, err := zip.Write(body)
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("cannot compress the file %s: %w", name, err)
	}
	file := &File{Type: kind, Plain: newForm(body)}
	if zipped.Len() < len(body) {
		file.Zipped = newForm(zipped.Bytes())
	}
	return file, nil
}

// newForm tags a file by its content: a changed file, and each coding of it, has another tag.
func newForm(body []byte) Form {
	const tagBytes = 16
	sum := sha256.Sum256(body)
	return Form{Body: body, ETag: `"` + hex.EncodeToString(sum[:tagBytes]) + `"`}
}
