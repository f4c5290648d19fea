package warehouse

import (
	"fmt"

	"dealhouse/internal/catalog"
)

// goldenEmptied are columns that are emptied.
var goldenEmptied = emptied(catalog.Transactions(), "transactions_latest", "it's", []string{"passback_uid", "_extra"},
	[]trace{{key: "01890000-0000-7000-8000-000000000001", version: "77"}})

// goldenCopied is a table that is copied.
var goldenCopied = copiedTable{name: "transactions_latest", columns: columns("account String, id UUID"), account: "toString(account)",
	month: month("sold_at"), final: "FINAL", where: "1"}

// ofQueries renders what reports, checks, pages and commands ask for.
func ofQueries() []statement {
	keys := []string{"a", "b"}
	all := []statement{
		{"selectRateSums", selectRateSums}, {"selectRates", selectRates},
		{"selectCloses", selectCloses}, {"selectSeenTo", selectSeenTo}, {"selectLoadedMark", selectLoadedMark},
		{"selectChangesByDay", selectChangesByDay}, {"selectRejectGroups", selectRejectGroups},
		{"selectAnyReject", selectAnyReject},
		{"selectUnknownFields", selectUnknownFields}, {"selectNotedFields", selectNotedFields},
		{"selectVanishedFields", selectVanishedFields},
		{"selectOpenFindings", selectOpenFindings}, {"selectOpenFindingsOf", selectOpenFindingsOf},
		{"selectAnyFinding", selectAnyFinding},
		{"selectEarlierAction", selectEarlierAction}, {"selectActions", selectActions(goldenLimit)},
		{"selectPayoutCurrencies", selectPayoutCurrencies([]int64{1, 2})},
		{"selectAcknowledgements", selectAcknowledgements},
		{"selectPayoutsDue", selectPayoutsDue}, {"selectPayoutsReadAt", selectPayoutsReadAt}, {"selectSettlementMatches", selectSettlementMatches},
		{"selectAnyOfAccount", selectAnyOfAccount},
		{"countSettlements", countSettlements},
		{"selectLatestChecks", selectLatestChecks},
		{"countNaming", countNaming([]string{"1", "2"})},
		{"insertKilled", insertKilled}, {"selectLeases", selectLeases}, {"selectStillRunning", selectStillRunning},
		{"selectLoadedFrom", selectLoadedFrom},
		{"selectCertificateStates", selectCertificateStates}, {"selectCertificates", selectCertificates}, {"selectRunsCut", selectRunsCut}, {"selectPublished", selectPublished},
		{"selectColumnsOf", selectColumnsOf}, {"countReplaced", countReplaced},
		{"selectTraces", selectTraces(catalog.Transactions(), "transactions_versions", []string{"jo@example.com", "7"})},
		{"emptying.update", goldenEmptied.update()}, {"emptying.insertKeys", goldenEmptied.insertKeys()},
		{"selectTracedRejects", selectTracedRejects(catalog.Transactions(), []string{"jo@example.com", `"7`})}, {"emptyRejects", emptyRejects("it's", "transactions", []string{"00FF"})},
		{"selectRunsBegun", selectRunsBegun}, {"selectPermanentTables", selectPermanentTables},
		{"selectPieces", selectPieces(goldenCopied)}, {"selectPiece", selectPiece(goldenCopied, copiedPiece{"acme", 202601})},
		{"deletePieces", deletePieces(goldenCopied, []copiedPiece{{"acme", 202601}, {"it's", 0}})}, {"removeOld", removeOld(goldenCopied)},
		{"selectAsText", selectAsText("table", []column{{name: "id", typ: "Int64"}, {name: "names", typ: "Array(String)"}})},
	}
	for _, s := range catalog.All() {
		add := func(name, text string) { all = append(all, statement{name + " of " + s.Name, text}) }
		add("countSeen", countSeen(s))
		add("countTwice", countTwice(s, keys))
		add("selectAccountsOf", selectAccountsOf(s))
		if s.Child != nil {
			add("countOtherPrices", countOtherPrices(s, false))
			add("countOtherPrices on a known day", countOtherPrices(s, true))
		}
		if s.ByDay != nil {
			add("selectRowsByDay", selectRowsByDay(s.ByDay))
		}
	}
	for _, is := range []bool{false, true} {
		all = append(all,
			statement{fmt.Sprintf("selectSettlementRevisions, chosen: %t", is), selectSettlementRevisions(is)},
			statement{fmt.Sprintf("selectSettlements, of a payout: %t", is), selectSettlements(is)},
			statement{fmt.Sprintf("selectThreeWays, of a payout: %t", is), selectThreeWays(is)})
	}
	return all
}
