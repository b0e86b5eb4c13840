package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/blocklist"
	"flashsale/internal/catalog"
)

// documentsMax limits the documents of one request.
const documentsMax = 500

var (
	contentTypeCSV = []byte("text/csv")
	byteOrderMark  = []byte("\ufeff")                    // spreadsheets begin CSV with it
	documentHeader = []byte("PASSP_SERIES,PASSP_NUMBER") // a first line that is no document
)

// isListed reports whether a user's document is on the blocklist.
func (s *Server) isListed(document catalog.Document) bool {
	passport, ok := document.Passport()
	return ok && s.cfg.Blocklist != nil && s.cfg.Blocklist.Listed(blocklist.Document(passport))
}

// checkDocuments answers which of some documents are listed, in the form in which they came: lines of CSV,
// or a JSON array of strings.
func (s *Server) checkDocuments(ctx *fasthttp.RequestCtx, _ call) {
	list := s.cfg.Blocklist.List()
	body := ctx.PostBody()
	switch {
	case len(body) == 0:
		reply(ctx, errEmptyRequest)
	case list == nil:
		reply(ctx, errUnavailable)
	case isCSV(ctx):
		checkLines(ctx, list, body)
	default:
		checkArray(ctx, list, body)
	}
}

// isCSV reports whether the body is CSV. Parameters of the type, such as the charset, do not matter.
func isCSV(ctx *fasthttp.RequestCtx) bool {
	kind, _, _ := bytes.Cut(ctx.Request.Header.ContentType(), []byte{';'})
	return bytes.EqualFold(bytes.TrimSpace(kind), contentTypeCSV)
}

// inquiry is the documents of one request. They are looked up together, which is faster than one by one.
type inquiry struct {
	documents [documentsMax]blocklist.Document
	listed    [documentsMax]bool
	count     int
}

// mark looks the documents up and reports whether any of them is listed.
func (q *inquiry) mark(list *blocklist.List) bool {
	listed := q.listed[:q.count]
	list.Mark(q.documents[:q.count], listed)
	return slices.Contains(listed, true)
}

// checkLines answers with the lines that are listed.
func checkLines(ctx *fasthttp.RequestCtx, list *blocklist.List, body []byte) {
	var q inquiry
	line := 0
	for text := range bytes.Lines(bytes.TrimPrefix(body, byteOrderMark)) {
		line++
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
		if line == 1 && bytes.Equal(text, documentHeader) {
			continue
		}
		if q.count == documentsMax {
			reply(ctx, errTooManyDocuments)
			return
		}
		d, ok := blocklist.ParseDocument(text)
		if !ok {
			reply(ctx, malformedDocument(line))
			return
		}
		q.documents[q.count] = d
		q.count++
	}
	if !q.mark(list) {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	var listed []byte
	for i, d := range q.documents[:q.count] {
		if q.listed[i] {
			listed = append(d.Append(listed), '\n')
		}
	}
	ctx.Response.Header.SetContentTypeBytes(contentTypeCSV)
	ctx.Response.SetBodyRaw(listed)
}

// checkArray answers with the strings that are listed.
func checkArray(ctx *fasthttp.RequestCtx, list *blocklist.List, body []byte) {
	var texts []*string // nil is null, which is no string
	if json.Unmarshal(body, &texts) != nil || texts == nil {
		reply(ctx, errMalformedJSON)
		return
	}
	if len(texts) > documentsMax {
		reply(ctx, errTooManyDocuments)
		return
	}
	q := inquiry{count: len(texts)}
	for i, text := range texts {
		if text == nil {
			reply(ctx, errMalformedJSON)
			return
		}
		d, ok := blocklist.ParseDocument([]byte(*text))
		if !ok {
			reply(ctx, malformedDocument(i+1))
			return
		}
		q.documents[i] = d
	}
	if !q.mark(list) {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	var listed []string
	for i, text := range texts {
		if q.listed[i] {
			listed = append(listed, *text)
		}
	}
	answer, _ := json.Marshal(listed) // strings can always be written
	replyRaw(ctx, answer)
}

// malformedDocument names the line of CSV, or the element of an array, that is no document. Both count
// from 1.
func malformedDocument(line int) *failure {
	return newFailure(400, "MALFORMED_DOCUMENT", fmt.Sprintf("第%d行不是证件号", line))
}

// describeBlocklist answers what is known of the newest list.
func (s *Server) describeBlocklist(ctx *fasthttp.RequestCtx, _ call) {
	list := s.cfg.Blocklist.List()
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
		s.replyOutcome(ctx, err)
		return
	}
	replyRaw(ctx, text)
}
