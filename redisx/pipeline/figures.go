package pipeline

import "time"

// noteSent counts a batch that is sent.
func (c *Conn) noteSent(b *batch, sent time.Time) {
	c.opts.Figures.BatchCalls.Observe(len(b.calls))
	c.opts.Figures.QueueWait.Observe(sent.Sub(b.oldest))
}

// noteReplies counts the time that a batch took, and notes that of a full one.
func (c *Conn) noteReplies(b *batch, sent, now time.Time) {
	took := now.Sub(sent)
	c.opts.Figures.RoundTrip.Observe(took)
	if len(b.calls) == batchMax {
		c.pace.note(took)
	}
}
