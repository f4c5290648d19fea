package payouts

import (
	"regexp"
	"slices"
	"testing"

	"dealhouse/schema"
)

// TestVerdictsOfTheView compares the verdicts that payout_reconciliation gives with those that this package knows.
func TestVerdictsOfTheView(t *testing.T) {
	text, err := schema.View("20_payout_2_reconciliation.sql")
	if err != nil {
		t.Fatal(err)
	}
	choice := regexp.MustCompile(`multiIf\(([^']*'\w+',\s*)+'\w+'\) AS verdict`).FindString(text)
	var verdicts []string
	for _, m := range regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(choice, -1) {
		verdicts = append(verdicts, m[1])
	}
	slices.Sort(verdicts)
	if want := slices.Sorted(slices.Values(Verdicts())); !slices.Equal(verdicts, want) {
		t.Errorf("the view gives %q, want %q", verdicts, want)
	}
}
