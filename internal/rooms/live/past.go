package live

// history is the event with the curve of the sale.
type history struct {
	second int64 // in which it was made
	text   []byte
}

// past is what a viewer has missed since an event: the pace of each second, or where that is not known any
// more, or is much, the whole curve.
func (h *Hub) past(lastID int64) (text []byte) {
	missed := h.second - 1 - lastID
	if missed < 0 || missed > batchesMax {
		return h.curve()
	}
	for number := h.latest - missed; number <= h.latest; number++ {
		b := h.batch(number)
		if want := lastID + number - (h.latest - missed); b.second != want { // there was no viewer then
			return h.curve()
		} else if want > lastID {
			text = append(text, b.pace...)
		}
	}
	return text
}

// curve is the history, nothing while the board does not have it yet.
func (h *Hub) curve() []byte {
	if h.board.history == nil {
		return nil
	}
	if h.history.second != h.second {
		h.history = history{h.second, appendEvent(nil, "history", h.id(), h.board.history)}
	}
	return h.history.text
}
