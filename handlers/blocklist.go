package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/catalog"
	"flashsale/internal/rooms/blocklist"
	"flashsale/internal/rooms/operators"
)

// documentsMax limits the documents of one request.
const documentsMax = 500

var (
	contentTypeCSV = []byte("text/csv")
	byteOrderMark  = []byte("\ufeff")                    // spreadsheets begin CSV with it
	documentHeader = []byte("PASSP_SERIES,PASSP_NUMBER") // the optional header line
)

// blocklistCalls are the calls of the list of invalid documents.
type blocklistCalls struct {
	*Server
	list *blocklist.Blocklist
}

// Blocklist is the room of the list of invalid documents: a user whose document is listed cannot log in.
func Blocklist(list *blocklist.Blocklist) Room {
	return func(s *Server) []Route {
		s.blocklist = list
		r := blocklistCalls{s, list}
		return []Route{
			{"POST", "/blocklist/check", s.anyOrService(operators.Viewer), takes(32 << 10), r.check},
			{"GET", "/blocklist", s.anyOrService(operators.Viewer), slow, r.describe},
		}
	}
}

// isListed reports whether a user's document is on the blocklist.
func (s *Server) isListed(document catalog.Document) bool {
	passport, ok := document.Passport()
	return ok && s.blocklist != nil && s.blocklist.Listed(blocklist.Document(passport))
}

// check answers which documents of a list are invalid. The answer has the form of the request: lines of CSV
// or a JSON array of strings. With skip_malformed=1 it is an object that names the malformed ones too.
func (r blocklistCalls) check(ctx *fasthttp.RequestCtx, _ Call) {
	list := r.list.List()
	body := ctx.PostBody()
	switch {
	case len(body) == 0:
		reply(ctx, errEmptyRequest)
		return
	case list == nil:
		reply(ctx, errUnavailable)
		return
	}
	q := inquiry{skip: string(ctx.QueryArgs().Peek("skip_malformed")) == "1"}
	csv := isCSV(ctx.Request.Header.ContentType(), body)
	if f := q.read(body, csv); f != nil {
		reply(ctx, f)
		return
	}
	listed := q.mark(list)
	switch {
	case q.skip:
		answer, _ := json.Marshal(struct { // strings and numbers can always be written
			Listed    []string `json:"listed"`
			Malformed []int    `json:"malformed"` // lines or elements, from 1
		}{append([]string{}, listed...), append([]int{}, q.malformed...)})
		replyRaw(ctx, answer)
	case len(listed) == 0:
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	case csv:
		ctx.Response.Header.SetContentTypeBytes(contentTypeCSV)
		ctx.Response.SetBodyString(strings.Join(listed, "\n") + "\n")
	default:
		answer, _ := json.Marshal(listed)
		replyRaw(ctx, answer)
	}
}

// isCSV reports whether the body is CSV, by its Content-Type without parameters such as charset. If the type
// is neither CSV nor JSON, a body is CSV that begins with the header line or a digit, as no array does.
func isCSV(contentType, body []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte{';'})
	switch kind = bytes.TrimSpace(kind); {
	case bytes.EqualFold(kind, contentTypeCSV):
		return true
	case bytes.EqualFold(kind, contentTypeJSON):
		return false
	}
	body = bytes.TrimLeft(bytes.TrimPrefix(body, byteOrderMark), "\r\n")
	return bytes.HasPrefix(body, documentHeader) || len(body) > 0 && body[0] >= '0' && body[0] <= '9'
}

// inquiry holds the documents of one request. One lookup for all is faster than one for each.
type inquiry struct {
	skip      bool // malformed documents are noted; otherwise the first one is a failure
	documents [documentsMax]blocklist.Document
	listed    [documentsMax]bool
	count     int
	malformed []int // lines of CSV, or elements of an array, from 1
}

func (q *inquiry) read(body []byte, csv bool) *failure {
	if csv {
		return q.readLines(body)
	}
	return q.readArray(body)
}

// add adds a document, which stands in this line or element.
func (q *inquiry) add(text []byte, line int) *failure {
	if q.count+len(q.malformed) == documentsMax {
		return errTooManyDocuments
	}
	d, ok := blocklist.ParseDocument(text)
	switch {
	case ok:
		q.documents[q.count] = d
		q.count++
	case !q.skip:
		return malformedDocument(line)
	default:
		q.malformed = append(q.malformed, line)
	}
	return nil
}

// readLines reads CSV. Blank lines are no documents but count as lines.
func (q *inquiry) readLines(body []byte) *failure {
	line, first := 0, true
	for text := range bytes.Lines(bytes.TrimPrefix(body, byteOrderMark)) {
		line++
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
		if len(text) == 0 {
			continue
		}
		header := first && bytes.Equal(text, documentHeader)
		first = false
		if header {
			continue
		}
		if f := q.add(text, line); f != nil {
			return f
		}
	}
	return nil
}

// readArray reads a JSON array of strings.
func (q *inquiry) readArray(body []byte) *failure {
	var texts []*string // nil is null, which is no string
	if json.Unmarshal(body, &texts) != nil || texts == nil || slices.Contains(texts, nil) {
		return errMalformedJSON
	}
	for i, text := range texts {
		if f := q.add([]byte(*text), i+1); f != nil {
			return f
		}
	}
	return nil
}

// mark looks the documents up and returns the listed ones.
func (q *inquiry) mark(list *blocklist.List) (listed []string) {
	list.Mark(q.documents[:q.count], q.listed[:q.count])
	var text []byte
	for i, d := range q.documents[:q.count] {
		if q.listed[i] {
			text = d.Append(text[:0])
			listed = append(listed, string(text))
		}
	}
	return listed
}

// malformedDocument is the failure for a line of CSV, or an element of an array, that is no document. Both
// count from 1.
func malformedDocument(line int) *failure {
	return inBoth(400, "MALFORMED_DOCUMENT", fmt.Sprintf("第%d行不是证件号", line),
		fmt.Sprintf("Line %d is not the number of a document.", line))
}

// describe answers with the facts about the newest list.
func (r blocklistCalls) describe(ctx *fasthttp.RequestCtx, _ Call) {
	list := r.list.List()
	if list == nil {
		reply(ctx, errUnavailable)
		return
	}
	info := list.Info()
	date := ""
	if d := info.Source.Date(); !d.IsZero() {
		date = d.Format(time.RFC3339)
	}
	text, err := json.Marshal(struct {
		Rows      uint64 `json:"rows"`
		Malformed uint64 `json:"malformed"`
		Stored    uint64 `json:"stored"`
		Date      string `json:"source_date"` // "" where the source names none
		Imported  string `json:"imported"`
		Bytes     int    `json:"memory_bytes"` // shared by all workers of a server
	}{info.Rows, info.Malformed, info.Stored, date,
		time.UnixMilli(info.Imported).UTC().Format(time.RFC3339), list.Bytes()})
	if err != nil {
		r.replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, text)
}
