package payouts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"dealhouse/internal/finance"
)

// visibleOnly returns a text without characters that cannot be seen, in the usual form of Unicode.
func visibleOnly(s string) string {
	if !utf8.ValidString(s) { // it is refused
		return s
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, s))
}

// referenceKey is the same for references that only differ in what a bank, or a program between, may change: the case,
// the form of Unicode, and spaces.
func referenceKey(reference string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.ToUpper(norm.NFKC.String(visibleOnly(reference))))), " ")
}

const months = `jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]`

var (
	// notIDs are dates, periods, times and amounts.
	notIDs = regexp.MustCompile(`\b\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}\b|\b\d{1,2}[-/.]\d{4}\b|\b(?:19|20)\d\d[-/.]\d\d?\b|` +
		`[€$£¥] ?\d+(?:[.,]\d+)*|\b\d+(?:[.,:]\d+)* ?[€$£¥%]|\b\d+(?:[.,:]\d+)+\b`)
	amountAfter, amountBefore = regexp.MustCompile(`\b([A-Z]{3}) ?[\d.,]+`), regexp.MustCompile(`\b[\d.,]+ ?([A-Z]{3})\b`)
	// payoutIDs are one or several numbers after the word.
	payoutIDs = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])pay[-_ ]?out(s?)[\s:#=_(\[-]*(?:(?:ids?|nos?|nrs?|numbers?)\b[\s.:#=-]*)?` +
		`(\d+(?:\s*(?:[,;+&/-]|\band\b|\bund\b)\s*\d+|\s+\d+)*)`)
	notEnd = regexp.MustCompile(`^[\pL\pN_]`)
	// doubtful is what makes a number before it a day, or a part of something else.
	doubtful = regexp.MustCompile(`(?i)^\.?\s*(?:(?:` + months + `)|(?:of|von|/)\s*\d{1,3}\b)`)
	numbers  = regexp.MustCompile(`\d+`)
)

// payoutsInWords returns the ids of payouts that a text names, sorted: the numbers after the word payout. Numbers that
// may be ids, or something else, are doubtful.
func payoutsInWords(text string) (sure, unsure []int64) {
	text = norm.NFKC.String(visibleOnly(text))
	for _, amount := range []*regexp.Regexp{amountAfter, amountBefore} {
		text = amount.ReplaceAllStringFunc(text, func(s string) string {
			if finance.IsCurrency(amount.FindStringSubmatch(s)[1]) {
				return "."
			}
			return s
		})
	}
	text = notIDs.ReplaceAllString(text, ".")
	for _, at := range payoutIDs.FindAllStringSubmatchIndex(text, -1) {
		list, several, rest := text[at[4]:at[5]], at[2] < at[3], text[at[5]:]
		if notEnd.MatchString(rest) {
			continue
		}
		if words := strings.Fields(list); !several && !strings.ContainsAny(list, ",;+&/-adAD") { // what follows is something else
			list = words[0]
		}
		for _, digits := range numbers.FindAllString(list, -1) {
			id, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				continue
			}
			if doubtful.MatchString(rest) {
				unsure = append(unsure, id)
			} else {
				sure = append(sure, id)
			}
		}
	}
	slices.Sort(sure)
	return slices.Compact(sure), unsure
}
