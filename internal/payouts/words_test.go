package payouts

import (
	"fmt"
	"testing"
)

// TestPayoutsInWords reads which payouts the words of a bank name: no date, amount or other number is a payout.
func TestPayoutsInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "[] []", "A-8 payout 110 of January": "[110] []", "PAYOUT 110": "[110] []", "Payout-ID: 110": "[110] []",
		"payout #110.": "[110] []", "pay-out no. 110, thank you": "[110] []", "PAYOUT110": "[110] []",
		"payout_110": "[110] []", "payout (110)": "[110] []", "payout=110;": "[110] []",
		"payouts 101, 102 and 103": "[101 102 103] []", "payouts 103 101 of 2026": "[101 103] []",
		"payouts 101+102": "[101 102] []", "payout 5 & 7": "[5 7] []", "payout 101 / payout 102": "[101 102] []",
		"p\u200bay\u00adout 1\u200d10": "[110] []", "ｐａｙｏｕｔ １１０": "[110] []", "payout\u00a0110": "[110] []",
		"payout 110 2026-10-05": "[110] []", "payout 110 EUR 20.00": "[110] []", "payout 110 20,00 EUR": "[110] []",
		"payout 110 0049 170 1234567": "[110] []", "payout 2026-10-05": "[] []", "payout 05.10.2026": "[] []",
		"payout 5/10/26": "[] []", "payout 10/2026": "[] []", "payout 2026/10": "[] []", "payout 30.00": "[] []",
		"payout 1,234.50": "[] []", "payout 30 EUR": "[] []", "payout EUR 30": "[] []", "payout €30": "[] []",
		"payout 30€": "[] []", "payout 10:30": "[] []", "payout 10 %": "[] []", "payout 10th of May": "[] []",
		"payout of 10": "[] []", "payout 10 October": "[] [10]", "payout 10. Oktober": "[] [10]", "payout 3 of 5": "[] [3]",
		"payout 1/2": "[1 2] []", "payout for 2026": "[] []", "payout 2026": "[2026] []", "2026-10-05": "[] []",
		"DE89 3704 0044 0532 0130 00": "[] []", "invoice 110": "[] []", "110": "[] []", "TEL 0170 110": "[] []",
		"repayout 110": "[] []", "payout 110 110": "[110] []", "payout 12345678901234567890": "[] []",
		"Payout 3 EUR 12,00 Ref 4711": "[3] []", "clawback of payout 107": "[107] []", "payout id 0110": "[110] []",
	} {
		sure, unsure := payoutsInWords(text)
		if got := fmt.Sprint(sure, unsure); got != want {
			t.Errorf("%q names %s, want %s", text, got, want)
		}
	}
	for _, other := range []string{"a-1", "A-1\u200b", "\ufeffA-1", "A\u00ad-1", "Ａ-1"} {
		if referenceKey(other) != referenceKey("A-1") {
			t.Errorf("%q is another reference than A-1", other)
		}
	}
	if referenceKey("Zu\u0308rich  1") != referenceKey("Zürich 1") || referenceKey("A-1") == referenceKey("A-2") || referenceKey("A 1") == referenceKey("A1") {
		t.Error("references are not told apart")
	}
}
