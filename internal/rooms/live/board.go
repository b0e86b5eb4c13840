package live

import (
	"bytes"
	"slices"
	"strconv"

	"flashsale/internal/observe/figures"
)

// The board has the id of the sale, then the data of the history event, of the refused event, then the last
// seconds, each with its pace; a line each.

// pacesMax is how many seconds are on the board: a worker may read it late.
const pacesMax = 5

// posted is a second on the board.
type posted struct {
	t    int64
	pace []byte
}

// boardText writes the text of the board.
func boardText(sale string, history, others []byte, seconds []posted) []byte {
	text := append([]byte(sale), '\n')
	text = append(append(text, history...), '\n')
	text = append(append(text, others...), '\n')
	for _, s := range seconds {
		text = append(strconv.AppendInt(text, s.t, 10), ' ')
		text = append(append(text, s.pace...), '\n')
	}
	return text
}

// reader reads the board for a Hub.
type reader struct {
	board   *figures.Board
	sale    string
	version uint64
	text    []byte
	history []byte // the data of the event, nil while the board has none of this sale
	others  []byte // the data of the event refused, with the history
	t       int64  // the last second of it
}

// read returns the seconds that are new since the last call, all of them in the history.
func (r *reader) read() (news []posted) {
	text, version := r.board.Read(r.text[:0], r.version)
	if version == r.version {
		return nil
	}
	r.text, r.version = text, version
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) < 3 || string(lines[0]) != r.sale { // a worker may be there before the board has its sale
		return nil
	}
	r.history, r.others = slices.Clone(lines[1]), slices.Clone(lines[2])
	for _, line := range lines[3:] {
		digits, pace, _ := bytes.Cut(line, []byte(" "))
		t, err := strconv.ParseInt(string(digits), 10, 64)
		if news = append(news, posted{t, slices.Clone(pace)}); err != nil || t == r.t { // known up to here
			news = nil
		}
	}
	if len(news) > 0 {
		r.t = news[len(news)-1].t
	}
	return news
}
