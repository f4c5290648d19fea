package finance

import (
	"strings"

	"github.com/shopspring/decimal"
)

// currencies are the codes of ISO 4217 by their number of decimals, with those that were withdrawn since 2010. Codes
// for tests, metals and units of account of banks are left out: nobody is paid in them.
var currencies = map[int32]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BYR BZD CAD CDF CHE " +
		"CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EEK EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD " +
		"HKD HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL LTL LVL MAD MDL MGA MKD " +
		"MMK MNT MOP MRO MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD " +
		"RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STD STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH " +
		"USD USN UYU UZS VEF VED VES WST XCD XCG YER ZAR ZMK ZMW ZWG ZWL",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

// IsCurrency reports whether a code is a currency of ISO 4217.
func IsCurrency(code string) bool {
	_, known := digits(code)
	return known
}

func digits(code string) (n int32, known bool) {
	for n, codes := range currencies {
		if len(code) == 3 && strings.Contains(codes, code) && !strings.Contains(code, " ") {
			return n, true
		}
	}
	return 2, false
}

// Digits returns the number of decimals of a currency in ISO 4217, and 2 for codes that are not in it.
func Digits(currency string) int32 {
	n, _ := digits(currency)
	return n
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

// Payable returns what is paid of an amount: rounded to the smallest unit of its currency, half away from zero.
// Nothing is paid of what is less than that unit.
func Payable(amount decimal.Decimal, currency string) decimal.Decimal {
	if amount.Abs().LessThan(FromMinor(1, currency)) {
		return decimal.Zero
	}
	return amount.Round(Digits(currency))
}
