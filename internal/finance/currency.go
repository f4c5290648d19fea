package finance

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Digits returns the number of decimals of a currency in ISO 4217: 2 for most, and for codes that are not in the list.
func Digits(currency string) int32 {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return 2
}

// Decimals returns how many decimals an amount is written with: as many as its currency has, or
// more if the amount has more.
func Decimals(amount decimal.Decimal, currency string) int32 {
	digits := Digits(currency)
	if amount.Truncate(digits).Equal(amount) {
		return digits
	}
	_, fraction, _ := strings.Cut(amount.String(), ".") // without trailing zeros
	return int32(len(fraction))
}

// Format writes an amount as a plain number, with Decimals.
func Format(amount decimal.Decimal, currency string) string {
	return amount.StringFixed(Decimals(amount, currency))
}

// FromMinor converts an amount from the smallest unit of its currency: 150 of EUR are 1.50.
func FromMinor(units int64, currency string) decimal.Decimal {
	return decimal.New(units, -Digits(currency))
}
