package redisx

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"flashsale/redisx/pipeline"
)

// A transfer moves pieces from one slice to another, in three steps: the receiver asks, the giver gives,
// the receiver takes. Each step is a script that notes what it does in the stock of its slice, and a
// repeated step changes nothing. So a crash between the steps loses and doubles no piece, and any server
// can do the next step. Meanwhile the pieces are in neither stock: Snapshot counts them.

// transferFields is the most fields for transfers in a stock, for each slice of the sale: "<", ">" and "="
// with its number, and a share of the two without a number.
const transferFields = 4

// transferFoods is the most foods in one transfer: the scripts then keep Redis busy for less than 100 us.
const transferFoods = 50

// piecesOf is some pieces of a food that a transfer asks for, if fewer than below are left.
type piecesOf struct{ food, pieces, below int64 }

// transfer makes a transfer and returns what the receiver got. It completes a transfer between the two
// slices that another caller has begun. ErrUnavailable: the next transfer between them, or settle,
// completes it.
func (r *reach) transfer(t planned) (got string, err error) {
	from, to, others := t.from, t.to, r.cfg.Slices
	if t.alone {
		others = 0
	}
	args := []string{strconv.Itoa(from), strconv.Itoa(others)}
	for _, p := range t.pieces[:min(len(t.pieces), transferFoods)] {
		for _, n := range []int64{p.food, p.pieces, p.below} {
			args = append(args, strconv.FormatInt(n, 10))
		}
	}
	var open string
	if err := r.do(to, askScript.Eval(&open, []string{r.stock(to)}, args...)); err != nil {
		return "", err
	}
	if open == "" {
		return "", nil
	}
	return r.carryOut(from, to, open)
}

func (r *reach) stock(slice int) string { return r.cfg.KeysOf(r.id, slice).Stock }

// carryOut does the last two steps of an open transfer.
func (r *reach) carryOut(from, to int, open string) (got string, err error) {
	number, asked, found := strings.Cut(open, " ")
	if !found {
		return "", fmt.Errorf("cannot read the transfer %q", open)
	}
	give := func() error {
		return r.do(from, giveScript.Eval(&got, []string{r.stock(from)}, strconv.Itoa(to), number, asked))
	}
	if err = give(); err == nil && got == transferMissing {
		if err = r.repair(from, to); err == nil {
			err = give()
		}
	}
	switch {
	case err != nil:
		return "", err
	case got == transferMissing:
		return "", fmt.Errorf("slice %d has lost transfers to slice %d", from, to)
	case got == nothingGiven:
		got = "" // and never will be: the transfer is closed, if it is still open
	}
	var taken int64
	err = r.do(to, takeScript.Eval(&taken, []string{r.stock(to)}, strconv.Itoa(from), number, got))
	if err != nil {
		return "", err
	}
	if taken == transferTaken && got != "" && r.cfg.Figures != nil {
		r.cfg.Figures.Transfers.Inc()
	}
	return got, nil
}

const (
	nothingGiven    = "-" // what transfer_give.lua returns for a transfer that is over
	transferMissing = "!" // what it returns if transfers before it are missing
	transferTaken   = 1   // what transfer_take.lua returns if it has taken the pieces
)

// What transfer_repair.lua returns if it has repeated transfers.
const (
	allRepeated  = 1
	someRepeated = 2
)

// repair makes the giver repeat the last transfers that the receiver has taken, if it has come back without
// them.
func (r *reach) repair(from, to int) error {
	var taken string
	x := pipeline.Command(&taken, "HGET", r.stock(to), takenField(from))
	if err := r.do(to, x); err != nil || taken == "" {
		return err
	}
	var code int64
	err := r.do(from, repairScript.Eval(&code, []string{r.stock(from)}, strconv.Itoa(to), taken))
	if err == nil && (code == allRepeated || code == someRepeated) {
		slog.Error("a slice came back with older data: pieces that it had given away are taken out again; "+
			"orders may be missing", "sale", r.id, "slice", from, "all pieces", code == allRepeated, "taken", taken)
	}
	return err
}

// forgetful returns the pairs of slices of which the giver does not know the last transfer that the
// receiver has taken. stocks are the fields of all stocks; a giver that was read first may only seem to be
// behind.
func forgetful(stocks []map[string]string) (pairs []pair) {
	for to, stock := range stocks {
		for from := range stocks {
			taken, _, _ := strings.Cut(stock[takenField(from)], " ")
			given, _, _ := strings.Cut(stocks[from][givenField(to)], " ")
			if optional(taken) > optional(given) && len(stocks[from]) > 0 {
				pairs = append(pairs, pair{from, to})
			}
		}
	}
	return pairs
}

// settle completes the transfers into a slice that were begun and not completed.
func (r *reach) settle(to int) error {
	fields := []string{"HMGET", r.stock(to)}
	for from := range r.cfg.Slices {
		fields = append(fields, receivedField(from))
	}
	var records []string
	if err := r.do(to, pipeline.Command(&records, fields...)); err != nil {
		return err
	}
	var errs []error // of single transfers: the others are completed all the same
	for from, record := range records {
		if !strings.Contains(record, " ") {
			continue
		}
		if _, err := r.carryOut(from, to, record); err != nil {
			errs = append(errs, err)
		}
	}
	return firstOf(errs)
}

// The fields of a stock for the transfers with another slice.
func receivedField(giver int) string { return "<" + strconv.Itoa(giver) }
func givenField(receiver int) string { return ">" + strconv.Itoa(receiver) }
func takenField(giver int) string    { return "=" + strconv.Itoa(giver) }

const (
	openField  = "<" // how many transfers into the slice are open
	stepsField = ">" // how many steps of transfers the slice has seen
)

// inFlight adds the pieces to left that were given and not taken yet. stocks are the fields of all stocks.
func inFlight(left []int64, stocks []map[string]string) {
	for to, stock := range stocks {
		if optional(stock[openField]) == 0 {
			continue
		}
		for from := range stocks {
			number, _, open := strings.Cut(stock[receivedField(from)], " ")
			given, list, _ := strings.Cut(stocks[from][givenField(to)], " ")
			if open && number == given {
				addPieces(left, list)
			}
		}
	}
}

// addPieces adds "food:pieces,food:pieces," to the pieces of each food.
func addPieces(left []int64, list string) {
	for item := range strings.SplitSeq(strings.TrimSuffix(list, ","), ",") {
		food, pieces, _ := strings.Cut(item, ":")
		if id := optional(food); id >= 1 && id <= int64(len(left)) {
			left[id-1] += optional(pieces)
		}
	}
}
