package catalog

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// currencies are the codes of ISO 4217 that have a minor unit, by the number of its decimals.
var currencies = [...]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP " +
		"BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR " +
		"FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR " +
		"KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV " +
		"MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR " +
		"SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH " +
		"USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

// Decimals returns the number of decimals of a currency's minor unit; ok is false for an unknown currency.
func Decimals(currency string) (decimals int, ok bool) {
	for n, codes := range currencies {
		for code := range strings.FieldsSeq(codes) {
			if code == currency {
				return n, true
			}
		}
	}
	return 0, false
}

// readCurrency checks the currency of a row: a catalogue has one or none.
func (g *goodsReader) readCurrency(r *row) error {
	found := r.optional(currencyColumn)
	switch {
	case g.currencyAt == nil:
		if _, known := Decimals(found); found != "" && !known {
			return fmt.Errorf("%v: currency %.40q is none of ISO 4217; write one such as CNY, EUR or JPY", r, found)
		}
		at := r.place
		g.currency, g.currencyAt = found, &at
	case found != g.currency:
		return fmt.Errorf("%v: currency is %.40q; at %v it is %q: give all foods the same", r, found,
			g.currencyAt, g.currency)
	}
	return nil
}

// parsePrice reads a price: a whole number without a currency, else an amount with or without decimals. It
// returns it in the minor unit of the currency.
func parsePrice(at place, text, currency string) (int64, error) {
	if currency == "" {
		price, err := wholeNumber(at, "price", text, 0, amountMax)
		if err != nil && strings.Contains(text, ".") {
			err = fmt.Errorf("%w; for decimals add a column currency", err)
		}
		return price, err
	}
	decimals, _ := Decimals(currency)
	whole, fraction, dot := strings.Cut(text, ".")
	if len(fraction) > decimals { // a database may write more zeros
		fraction = fraction[:decimals] + strings.TrimRight(fraction[decimals:], "0")
	}
	digits := whole + fraction
	if len(fraction) <= decimals && whole != "" && (!dot || text[len(text)-1] != '.') && onlyDigits(digits) {
		price, err := strconv.ParseInt(digits+strings.Repeat("0", decimals-len(fraction)), 10, 64)
		if err == nil && price <= amountMax {
			return price, nil
		}
	}
	return 0, fmt.Errorf("%v: price %.40q is not an amount of %s from 0 to %d with at most %d decimals, such "+
		"as %s", at, text, currency, amountMax/int64(math.Pow10(decimals)), decimals,
		strings.TrimSuffix(sampleAmount[:3+decimals], "."))
}

// sampleAmount begins with an amount of 0 to 4 decimals behind its first two digits and the point.
const sampleAmount = "12.5000"

func onlyDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}
