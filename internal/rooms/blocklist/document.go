package blocklist

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
	for i, c := range text {
		if i == seriesDigits {
			continue
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		d = 10*d + Document(c-'0')
	}
	return d, true
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
