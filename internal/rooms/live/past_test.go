package live

import (
	"testing"
	"time"
)

// A viewer that comes back gets what it has missed, and all of the rest; one that was away for more than a
// minute gets the history.
func TestResume(t *testing.T) {
	s := openStand(t, 10)
	s.join(false, 0)
	for range 3 {
		s.pass()
	}
	s.join(false, start+2).want(s.hello(""))
	s.join(false, start).want(s.hello(quiet(start+1) + quiet(start+2)))
	for _, id := range []int64{start - 1, start + 3, start - 10_000, -1, 0} {
		s.join(false, id).want(s.hello(s.noOrders()))
	}
	for range batchesMax {
		s.pass()
	}
	missed := ""
	for second := int64(start + 3); second < s.second; second++ {
		missed += quiet(second) // without the comments
	}
	s.join(false, start+2).want(s.hello(missed))
	s.join(false, start+1).want(s.hello(s.noOrders()))
}

// Seconds without a viewer are not known one by one: who comes back gets the history.
func TestResumeAfterNobody(t *testing.T) {
	s := openStand(t, 10)
	s.join(false, 0).Close()
	s.pass()
	s.awaitViewers(0)
	s.pass()
	s.pass()
	s.join(false, start).want(s.hello(s.noOrders()))
}

// A worker may read the board late: no second is left out, and none comes twice.
func TestLateBoard(t *testing.T) {
	s := openStand(t, 10)
	c := s.join(false, 0)
	c.want(s.hello(s.noOrders()))
	old := s.paces
	s.paces = append(s.paces, posted{t: start}, posted{t: start + 1}) // nothing new is put up
	s.memory.Board().Write(boardText(saleID, []byte(past0), nil, old))
	s.now = s.now.Add(time.Second)
	s.turn(s.now)
	s.now = s.now.Add(time.Second)
	s.memory.Board().Write(boardText(saleID, []byte(past0), nil, append(old,
		posted{start, []byte(`{"t":1}`)}, posted{start + 1, []byte(`{"t":2}`)})))
	s.turn(s.now)
	for s.viewers[0].got != s.latest {
		s.slot = 0
		s.turn(s.now)
	}
	c.want(event("pace", start+1, `{"t":1,"redis":"up","ledger_lag":null}`) +
		event("pace", start+1, `{"t":2,"redis":"up","ledger_lag":null}`))
}

// A worker that serves the sale before the board has it sends the history when it comes, to all.
func TestBoardOfAnotherSale(t *testing.T) {
	s := openStand(t, 10)
	s.board = reader{board: s.cfg.Board, sale: "next"}
	c := s.join(false, 0)
	c.want(s.hello(""))
	s.board.sale = saleID
	s.pass()
	c.want(event("history", start, past0))
	s.pass()
	c.want(quiet(start + 1))
}
