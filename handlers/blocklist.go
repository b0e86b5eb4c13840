package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"flashsale/internal/blocklist"
	"flashsale/internal/catalog"
)

// documentsMax limits the documents of one request.
const documentsMax = 500

var (
	contentTypeCSV = []byte("text/csv")
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

// checkLines answers with the lines that are listed.
func checkLines(ctx *fasthttp.RequestCtx, list *blocklist.List, body []byte) {
	var listed []byte
	count, line := 0, 0
	for text := range bytes.Lines(body) {
		line++
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
		if line == 1 && bytes.Equal(text, documentHeader) {
			continue
		}
		if count++; count > documentsMax {
			reply(ctx, errTooManyDocuments)
			return
		}
		d, ok := blocklist.ParseDocument(text)
		if !ok {
			reply(ctx, malformedDocument(line))
			return
		}
		if list.Contains(d) {
			listed = append(append(listed, text...), '\n')
		}
	}
	if len(listed) == 0 {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	ctx.Response.Header.SetContentTypeBytes(contentTypeCSV)
	ctx.Response.SetBodyRaw(listed)
}

// checkArray answers with the strings that are listed.
func checkArray(ctx *fasthttp.RequestCtx, list *blocklist.List, body []byte) {
	var documents []*string // nil is null, which is no string
	if json.Unmarshal(body, &documents) != nil || documents == nil {
		reply(ctx, errMalformedJSON)
		return
	}
	if len(documents) > documentsMax {
		reply(ctx, errTooManyDocuments)
		return
	}
	var listed []string
	for i, text := range documents {
		if text == nil {
			reply(ctx, errMalformedJSON)
			return
		}
		d, ok := blocklist.ParseDocument([]byte(*text))
		if !ok {
			reply(ctx, malformedDocument(i+1))
			return
		}
		if list.Contains(d) {
			listed = append(listed, *text)
		}
	}
	if len(listed) == 0 {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return
	}
	text, _ := json.Marshal(listed) // strings can always be written
	replyRaw(ctx, text)
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
