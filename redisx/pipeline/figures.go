package pipeline

import "time"

// noteSent counts a batch being sent.
func (c *Conn) noteSent(b *batch, sent time.Time) {
	c.opts.Figures.BatchCalls.Observe(len(b.calls))
	c.opts.Figures.QueueWait.Observe(sent.Sub(b.oldest))
}

// noteReplies counts the duration of a batch, and notes it for the pace if the batch was full.
func (c *Conn) noteReplies(b *batch, sent, now time.Time) {
	took := now.Sub(sent)
	c.opts.Figures.RoundTrip.Observe(took)
	if len(b.calls) == batchMax {
		c.pace.note(took)
	}
}
