package blocklist

import (
	"encoding/binary"
)

const (
	seriesCount   = 10_000    // series 0000 to 9999
	numbersCount  = 1_000_000 // numbers 000000 to 999999 of each
	documentBytes = 11        // "4509,123456"
	seriesDigits  = 4
)

// Document is a passport: its series times a million plus its number.
type Document uint64

// ParseDocument reads exactly four digits, a comma and six digits.
func ParseDocument(text []byte) (d Document, ok bool) {
	if len(text) != documentBytes || text[seriesDigits] != ',' {
		return 0, false
	}
	const zeros = 0x3030303030303030 // the text "00000000"
	// Both numbers get leading zeros up to eight digits.
	series := uint64(binary.LittleEndian.Uint32(text))<<32 | zeros&(1<<32-1)
	number := binary.LittleEndian.Uint64(text[documentBytes-8:])&^(1<<16-1) | zeros&(1<<16-1)
	s, seriesOK := eightDigits(series ^ zeros)
	n, numberOK := eightDigits(number ^ zeros)
	return Document(s*numbersCount + n), seriesOK && numberOK
}

// eightDigits reads eight digits at once. Each is a byte from 0 to 9, the first one the lowest. It makes
// pairs of them, then adds the pairs up, each with its power of ten.
func eightDigits(digits uint64) (n uint64, ok bool) {
	const above9 = 0x7676767676767676 // added to a byte above 9, it sets the highest bit
	ok = (digits|(digits&0x7f7f7f7f7f7f7f7f+above9))&0x8080808080808080 == 0
	n = digits*10 + digits>>8
	n = (n&0x000000ff000000ff*(100+1_000_000<<32) + n>>16&0x000000ff000000ff*(1+10_000<<32)) >> 32
	return n, ok
}

// Append appends the text that ParseDocument reads.
func (d Document) Append(dst []byte) []byte {
	var text [documentBytes]byte
	for i := len(text) - 1; i >= 0; i-- {
		if i == seriesDigits {
			text[i] = ','
			continue
		}
		text[i] = '0' + byte(d%10)
		d /= 10
	}
	return append(dst, text[:]...)
}

func (d Document) series() uint32 { return uint32(d / numbersCount) }
func (d Document) number() uint32 { return uint32(d % numbersCount) }
