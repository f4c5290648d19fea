package warehouse

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// update writes new golden files: go generate ./... does it.
var update = flag.Bool("update", false, "write the golden files of the statements anew")

// statement is one that the package sends, by the name of the function that renders or sends it.
type statement struct{ name, text string }

// The run, the time and the limit of the golden files.
const (
	goldenRun     = "00000000-0000-4000-8000-00000000a11e"
	goldenTime    = "1767225600000"
	goldenLimit   = 5
	goldenHorizon = 4
)

var goldenSince = time.UnixMilli(1)

// goldenStreams are an incremental stream, a snapshot, and one with a derived key and a child table.
var goldenStreams = []string{"transactions", "promotions", "products"}

// goldenScope has two values of each filter of a stream.
func goldenScope(s *catalog.Stream) catalog.Scope {
	values := map[string][]string{}
	for _, f := range s.Filters {
		values[f.Name] = []string{"it's", "other"}
	}
	return catalog.NewScope(s, values)
}

// ofStream renders all statements of a stream.
func ofStream(d dialect, s *catalog.Stream) []statement {
	x := d.script(Run{ID: uuid.MustParse(goldenRun), Account: "acme", Stream: s})
	all := ofSchema(d, s)
	add := func(name, text string) { all = append(all, statement{name, text}) }
	add("insertInto staging", insertInto(stagingTable(s), stagingColumns(s)))
	add("countStaged", x.countStaged())
	add("selectStagedKeys", x.selectStagedKeys())
	add("countBefore", x.countBefore(Part, 1))
	add("countBefore of the whole list", x.countBefore(Whole, 1))
	add("countBefore of many rows", x.countBefore(Part, fewKeys+1))
	add("countBefore of more rows than a set holds", x.countBefore(Part, keysInSet+1))
	add("hasNone", x.hasNone())
	add("dropOldChanges", x.dropOldChanges())
	add("createChanges", x.createChanges())
	for scope, name := range []string{Part: "a part", Whole: "the whole list", Unlisted: "rows that no list has"} {
		for _, ahead := range []bool{false, true} {
			if ahead {
				name += ", some dated ahead"
			}
			add("insertChanges of "+name, x.insertChanges(Scope(scope), ahead))
		}
	}
	add("countChanges", x.countChanges())
	add("selectPlannedKeys", x.selectPlannedKeys())
	add("selectPlannedDeletes", x.selectPlannedDeletes(goldenLimit))
	add("selectNewest", x.selectNewest(goldenLimit))
	add("countAlike", x.countAlike())
	add("selectDifferences", x.selectDifferences(Changes{}, 100))
	add("selectDifferences, dated ahead", x.selectDifferences(Changes{Ahead: 1}, 100))
	add("countAbsence", x.countAbsence())
	add("countUnconfirmed", x.countUnconfirmed(x.selectAbsent(1)))
	add("deleteAllPlanned", x.deleteAllPlanned())
	add("selectClashes", x.selectClashes(false))
	add("deletePlanned by absence", x.deletePlanned(x.selectAbsent(1)))
	add("deletePlanned by key", x.deletePlanned(literals([]string{"a", "b"})))
	if len(s.Filters) > 0 {
		scoped := d.script(Run{ID: x.ID, Account: x.Account, Stream: s, Within: goldenScope(s)})
		add("countOutside", scoped.countOutside()) // with selectOutside
		add("selectPlannedDeletes in a scope", scoped.selectPlannedDeletes(goldenLimit))
		add("deletePlanned in a scope", scoped.deletePlanned(literals([]string{"a"})))
	}
	add("createDelta", x.createDelta())
	for _, c := range []struct {
		name string
		Changes
	}{
		{"the first load", Changes{First: true, Staged: 2, Distinct: 2}},
		{"the first load, keys staged twice", Changes{First: true, Staged: 2, Distinct: 1}},
		{"what changes", Changes{Staged: 2, Distinct: 2}},
		{"what changes of many rows", Changes{Staged: readAllUpTo + 1, Distinct: readAllUpTo + 1}},
		{"what changes, keys staged twice", Changes{Staged: 2, Distinct: 1}},
		{"what changes, keys staged twice, some dated ahead", Changes{Staged: 2, Distinct: 1, Ahead: 1}},
		{"the first load, keys staged twice, some dated ahead", Changes{First: true, Staged: 2, Distinct: 1, Ahead: 1}},
		{"rows that no list has", Changes{Staged: 2, Distinct: 2, Unlisted: true}},
	} {
		add("insertDelta of "+c.name, x.insertDelta(c.Changes))
	}
	add("insertTombstones", x.insertTombstones())
	add("mergeParts", mergeParts(x.names["delta"]))
	if s.OrderedBy != "" {
		add("countLive that is kept", x.countLive(false))
		add("createChanged", x.createChanged())
		add("insertChanged", x.insertChanged())
		add("countTouched", x.countTouched(append(x.countStored(Changes{}), x.countPaid(Changes{})...)))
		add("createMoves", x.createMoves())
		add("copyDelta", x.copyDelta())
		add("insertMarks", x.insertMarks())
	}
	all = append(all, ofDerived(d, x)...)
	all = append(all, ofPublication(d, x)...)
	for _, filtered := range []bool{false, true} {
		add(fmt.Sprintf("selectCandidates, filtered: %t", filtered), x.selectCandidates(!filtered))
	}
	add("deleteCleared, what they were", deleteCleared("acme", s.Name, []string{"a", "b"}, false))
	add("deleteCleared, that they were cleared", deleteCleared("acme", s.Name, []string{"a", "b"}, true))
	for _, known := range []bool{false, true} {
		add(fmt.Sprintf("inspectDelta, with earlier versions: %t", known), x.inspectDelta(rulesOf(s, known), known, Changes{}))
	}
	first := Changes{First: true, Distinct: largeFirst, Staged: largeFirst + 1}
	add("inspectDelta, of a large first load", x.inspectDelta(rulesOf(s, true), false, first))
	add("selectLiveSum", selectLiveSum(s))
	add("expected, of a large first load", x.expected(first))
	add("removed", x.removed(Changes{}))
	if s.History {
		add("selectWritten", selectWritten(s))
	}
	add("selectAltered", selectAltered(s, latestTable(s), 100))
	if len(s.References()) > 0 {
		add("selectUnknownReferences", selectUnknownReferences(s, catalog.All()))
	}
	return all
}

// ofSchema renders what makes and changes the tables and views of a stream.
func ofSchema(d dialect, s *catalog.Stream) []statement {
	all := []statement{
		{"createLatest", d.lasting(createLatest(d, s))}, {"createStaging", createStaging(d, s)},
		{"createView", d.lasting(createView(s))}, {"rehash", d.staging(rehash(s))},
	}
	old := stored{columns: map[string]map[string]string{}, hashes: map[string]string{}}
	for _, t := range tablesOf(s)[:2] { // _latest and staging; _versions is treated in the same way
		old.columns[t.name] = map[string]string{}
	}
	for i, text := range old.hashStatements(d, s)[1:] { // the first is rehash
		all = append(all, statement{fmt.Sprintf("hashStatements %d", i+2), text}) // with updateHashes and forgetDerived
	}
	if s.History {
		all = append(all, statement{"createVersions", d.lasting(createVersions(d, s))},
			statement{"createHistory", d.lasting(createHistory(s))}, statement{"createAsOf", d.lasting(createAsOf(s))})
	}
	for _, column := range s.LookedUpBy {
		all = append(all, statement{"createLookup", d.lasting(createLookup(s, column))})
	}
	if s.AllView != "" {
		all = append(all, statement{"createAllView", d.lasting(createAllView(s))})
	}
	if s.Child != nil {
		all = append(all, statement{"createChildLatest", d.lasting(createChildLatest(s))},
			statement{"createChildHashes", d.lasting(createChildHashes(s))},
			statement{"createChildView", d.lasting(createChildView(s))})
	}
	for _, t := range tablesOf(s) {
		last := len(t.want) - 1
		had := map[string]string{}
		for _, c := range t.want[:last] {
			had[c.name] = c.typ
		}
		added, _ := addColumns(t.name, had, t.want) // a missing column is not an error
		all = append(all, statement{"addColumns to " + t.name, t.render(d, added[0])})
	}
	return all
}

// ofDerived renders what is done for the derived tables of a stream: keysOf, createDecisions with
// insertDecisions and insertAllDecisions, namedBy with insertNamed and insertNamedOnce, saleSums and retailerSums with
// changedRetailers and lostRetailers, stampedRows with changedMembers and wholeMembers, payoutMovesTable, memberSums,
// priceChanges with moving and changedPrices. They share inserted, insertAll, changedSums and wholeSums.
func ofDerived(d dialect, x script) []statement {
	var all []statement
	for _, t := range derivedTables(x.Stream) {
		delta := d.ofRun(x.derivedDelta(t.table))
		add := func(name, text string) { all = append(all, statement{name + " " + t.table, text}) }
		add("create", d.lasting(t.create))
		add("dropDelta of", dropDelta(delta))
		add("createDelta", d.createDelta(t.table, delta, t.create))
		add("dropTable", dropTable(delta))
		add("countRows", countRows(delta))
		for _, first := range []bool{true, false} {
			for _, text := range t.fill(x, delta, first) {
				add(fmt.Sprintf("fill, the first load: %t,", first), text)
			}
		}
		if t.touched != nil {
			add("touched", x.countTouched(t.touched(x, Changes{Inserted: 1})))
		}
		for _, text := range t.rebuild(x, delta) {
			add("rebuild", text)
		}
		add("attachDerived", attachDerived(t.table, delta, x.Account))
		add("replaceDerived", replaceDerived(t.table, delta, x.Account))
		add("dropDerived", dropDerived(t.table, x.Account))
		add("compareDerived", compareDerived(t, delta))
		add("countSame", t.target(delta).count())
	}
	return all
}

// ofPublication renders what publishes a run and cleans up after it.
func ofPublication(d dialect, x script) []statement {
	var all []statement
	add := func(name, text string) { all = append(all, statement{name, text}) }
	tables := []string{x.names["changes"], x.names["delta"]}
	attached := []target{{x.names["latest"], x.names["delta"], x.names["latest"], "", ""}}
	if x.Stream.OrderedBy != "" {
		attached, tables = append(attached, target{x.names["latest"], x.names["moves"], movesOf(x.Stream), "",
			""}), append(tables, x.names["moves"])
	}
	if x.Stream.History {
		attached = append(attached, target{x.names["versions"], x.names["delta"], x.names["latest"], "", ""})
	}
	if x.Stream.Child != nil {
		attached = append(attached, target{x.names["child_latest"], x.names["child_delta"], x.names["child_latest"], "", ""},
			target{x.names["child_hashes"], x.names["child_hashes_delta"], x.names["child_hashes"], "", ""})
		tables = append(tables, x.names["child_delta"], x.names["child_hashes_delta"])
		add("createChildHashesDelta", x.createChildHashesDelta())
		add("createChildDelta", x.createChildDelta())
		add("insertChildHashes", x.insertChildHashes(Changes{Staged: 2, Distinct: 2}))
		add("insertChildHashes, keys staged twice", x.insertChildHashes(Changes{Staged: 2, Distinct: 1}))
		add("insertChildDelta", x.insertChildDelta(Changes{Staged: 2, Distinct: 2}))
		add("insertChildDelta, keys staged twice", x.insertChildDelta(Changes{Staged: 2, Distinct: 1}))
	}
	for _, t := range attached {
		add("attachDelta "+t.delta+" to "+t.table, d.attachDelta(x.Stream, t.table, t.delta))
		add("countOfRun in "+t.table, countOfRun(t.table))
		if d.byMonth(x.Stream) {
			add("selectMonths of "+t.table, selectMonths(t))
			add("attachMonth of "+t.table, attachMonth(t, "202601"))
		}
	}
	add("selectParts", selectParts(d))
	w := &Writer{pool: &pool{dialect: d}, Run: x.Run, script: x, filled: derivedTables(x.Stream)}
	add("countKeys", countKeys(w.deltas(Changes{Inserted: 1})))
	if x.Stream.Child == nil {
		add("countFewKeys", countFewKeys(w.deltas(Changes{Inserted: 1})))
	}
	add("dropDelta of what is prepared", dropDelta(w.prepared()...))
	add("dropTable of what is prepared", dropTable(w.prepared()...))
	for _, table := range tables {
		add("dropTable "+table, dropTable(table))
	}
	add("dropStaged "+x.names["staging"], x.dropStaged(x.names["staging"]))
	return all
}

// ofUpkeep renders the statements of retention and of backups.
func ofUpkeep() []statement {
	ids := []string{"01", "02"}
	return []statement{
		{"selectRetired", selectRetired}, {"neededRuns", neededRuns}, {"selectOldRuns", selectOldRuns},
		{"deleteRuns", deleteRuns(goldenSince, []string{"('acme', 'coupons')"}, []string{goldenRun}, false)},
		{"deleteRuns, last", deleteRuns(goldenSince, []string{"('acme', 'coupons')"}, []string{goldenRun}, true)},
		{"selectOldRejects", selectOldRejects}, {"deleteRejects", deleteRejects(goldenSince, ids)},
		{"selectOldFindings", selectOldFindings}, {"deleteFindings", deleteFindings(goldenSince, ids, false)},
		{"deleteFindings, resolved", deleteFindings(goldenSince, ids, true)},
		{"selectOldVersions", selectOldVersions(dealHistories()[0])},
		{"deleteVersions", deleteVersions(dealHistories()[0], goldenSince, ids)},
		{"selectKnownStreams", selectKnownStreams}, {"selectSchemaState", selectSchemaState},
		{"backUpTo", backUpTo("dealhouse", "a")}, {"restoreFrom", restoreFrom("dealhouse", "a")},
	}
}

// ofAll renders the statements that belong to no stream.
func ofAll() []statement {
	one := int64(1)
	all := []statement{
		{"createMigrations", createMigrations}, {"createMigrationsView", createMigrationsView},
		{"selectApplied", selectApplied}, {"selectColumns", selectColumns},
		{"recordOf", recordOf([]migration{{version: 1, name: "0001_first.sql"},
			{version: streamsVersion, name: "streams", generation: 1}})},
		{"createTurns", createTurns}, {"selectPublic", selectPublic},
		{"selectPublicMark", selectPublicMark("dealhouse_views")}, {"selectTurns", selectTurns(schemaTurns)},
		{"selectTold", selectTold}, {"selectWaiting", selectWaiting}, {"selectNotifications", selectNotifications},
		{"selectReceivers", selectReceivers},
		{"selectOrders", selectOrders},
		{"selectVersion", selectVersion}, {"selectTime", selectTime},
		{"selectUnfolded", selectUnfolded}, {"countMonths", countMonths}, {"selectLateness", selectLateness}, {"foldMonth", foldMonth("transactions_latest", "202601")},
		{"selectInParts", selectInParts(dialect{})},
		{"selectState", selectState}, {"selectStates", selectStates}, {"selectLease", selectLease(false)},
		{"selectLease with the row of a run", selectLease(true)}, {"selectInterrupted", selectInterrupted}, {"countInterrupted", countInterrupted},
		{"selectOutcome", selectOutcome},
		{"selectAliveRuns by row", selectAliveRuns[0]}, {"selectAliveRuns by state", selectAliveRuns[1]},
		{"selectStagedRuns", selectStagedRuns(dialect{})},
		{"selectRejectVersion", selectRejectVersion}, {"insertCounted", insertCounted},
		{"countOpenRejects", countOpenRejects},
		{"selectRejected", selectRejected(false, "50")}, {"selectRejected, unsettled", selectRejected(true, "50")},
		{"selectServer", selectServer}, {"selectServerID", selectServerID}, {"selectCluster", selectCluster},
		{"checkGrant", checkGrant("ALTER DELETE", "`dealhouse`.*")},
		{"giveRights", giveRights([]string{"SELECT", "ALTER DELETE"}, "`dealhouse`.*")},
		{"syncReplica", syncReplica("coupons_latest")}, {"trySettings", trySettings},
		{"deleteLaterMisses", deleteLaterMisses(1767225600000)},
		{"selectStandings", selectStandings()}, {"selectRunSpans", selectRunSpans(goldenLimit)},
		{"selectDirectives", selectDirectives()}, {"selectGuardedRuns", selectGuardedRuns()},
		{"countOpenFindings", countOpenFindings}, {"selectStorage", selectStorage}, {"selectLiveRows", selectLiveRows()},
		{"selectViews", selectViews}, {"createStreamCounts", createStreamCounts()},
		{"selectChecksBefore", selectChecksBefore}, {"selectPresence", selectPresence},
		{"selectUnknownPayouts", selectUnknownPayouts},
	}
	for _, f := range []RunFilter{{Limit: 20}, {Limit: 20, PerStream: 1}, {Limit: 20, WholeLooks: true},
		{Limit: 20, PerStream: 1, WholeLooks: true}, {Limit: 20, PerStream: 1, WholeLooks: true, Brief: true}} {
		name := fmt.Sprintf("selectRuns, by stream: %t, whole looks: %t", f.PerStream > 0, f.WholeLooks)
		if f.Brief {
			name += ", brief"
		}
		all = append(all, statement{name, selectRuns(f)})
	}
	for _, f := range []PayoutFilter{{}, {Account: "acme", Since: goldenSince, Payout: &one}} {
		name := ""
		if f.Account != "" {
			name = ", filtered"
		}
		closed, _ := f.conditions("end_date", "payout_id")
		sold, _ := f.conditions("sold_at", "payout_id")
		unpaid, _ := f.conditions("sold_at", "")
		all = append(all, statement{"selectPayouts" + name, selectPayouts(closed)},
			statement{"selectPayoutTransactions" + name, selectPayoutTransactions(sold)},
			statement{"selectPayoutOrphans" + name, selectPayoutOrphans(sold)},
			statement{"selectPayoutOverdue" + name, selectPayoutOverdue(unpaid)})
	}
	all = append(all, statement{"selectPayoutExceptions",
		selectPayoutExceptions(PayoutsToRead{Payouts: []int64{1, 2, 3}, Unseen: []int64{2, 3}})})
	closed := []Close{{Month: time.UnixMilli(0).UTC(), SeenTo: goldenSince}}
	all = append(all, statement{"selectChangeSums", selectChangeSums(closed)},
		statement{"selectAllChangeSums", selectAllChangeSums(closed)}, statement{"selectChanges", selectChanges(nil)},
		statement{"selectEachChange", selectEachChange(nil)}, statement{"selectPayoutsOf", selectPayoutsOf(nil)},
		statement{"selectPaidBefore", selectPaidBefore([]int64{1, 2}, nil)},
		statement{"selectUnpaidCohorts", selectUnpaidCohorts(goldenHorizon)},
		statement{"selectSomeVersions", selectSomeVersions},
		statement{"selectLoadedDays", selectLoadedDays()}, statement{"selectDueTransactions", selectDueTransactions(closed)},
		statement{"selectRecordVersions", selectRecordVersions(catalog.Payouts())})
	all = append(all, ofUpkeep()...)
	for _, t := range []struct{ newest, from string }{
		{newestVersion, "sync_state_log WHERE account = {account:String} AND stream = {stream:String}"},
		{newestTime("asked_at"), "reference_misses_log WHERE account = {account:String} AND stream = {stream:String}"},
		{newestTime("checked_at"), "quality_checks_log WHERE account = {account:String} AND stream = {stream:String}"},
		{newestTime("applied_at"), "schema_migrations_log"},
	} {
		table, _, _ := strings.Cut(t.from, " ")
		all = append(all, statement{"selectTimeAfter " + table, selectTimeAfter(t.newest, t.from)})
	}
	for _, t := range []struct {
		table   string
		columns []column
	}{
		{"schema_migrations_log", migrationColumns}, {"schema_turns_log", turnColumns}, {"sync_state_log", stateColumns},
		{"notifications_log", notificationColumns}, {"unknown_fields_log", unknownFieldColumns},
		{"field_presence_log", presenceColumns}, {"rejects_log", rejectColumns}, {"rejects_log", settledColumns},
		{"reference_misses_log", missColumns},
	} {
		all = append(all, statement{"insertInto " + t.table, insertInto(t.table, t.columns)})
	}
	return all
}

// golden compares statements with a file of testdata, or writes the file.
func golden(t *testing.T, name, about string, statements []statement) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "-- %s\n", about)
	for _, s := range statements {
		fmt.Fprintf(&text, "\n-- %s\n%s;\n", s.name, s.text)
	}
	file := filepath.Join("testdata", name+".sql")
	if *update {
		must(t, os.MkdirAll("testdata", 0o750), os.WriteFile(file, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if d := gocmp.Diff(string(want), text.String()); d != "" {
		t.Errorf("%s differs from what is sent (go generate ./... writes it anew): %s", file, d)
	}
}

// TestStatements compares each statement that is rendered with the golden files, and makes the engine parse them.
func TestStatements(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	files := map[string][]statement{"shared": ofAll(), "queries": ofQueries()}
	about := map[string]string{"shared": "What is sent that belongs to no stream.",
		"queries": "What reports, checks, pages and commands ask for."}
	for _, name := range goldenStreams {
		s, err := catalog.Find(name)
		must(t, err)
		files[name], about[name] = ofStream(dialect{}, s), "What is sent for "+name+
			", rendered for the account acme and the run "+goldenRun+"."
	}
	for name, statements := range files {
		golden(t, name, about[name], statements)
		parse(t, statements)
	}
}

var parameter = regexp.MustCompile(`\{(\w+):([\w()]+)\}`)

// parse makes the engine parse statements, without executing them.
func parse(t *testing.T, statements []statement) {
	t.Helper()
	w, err := Open(t.Context(), Options{DSN: enginetest.DSN()})
	must(t, err)
	defer w.Close() //nolint:errcheck // nothing was written
	for _, s := range statements {
		text := s.text
		if strings.HasPrefix(text, "INSERT INTO") && !strings.Contains(text, "SELECT") {
			text += " VALUES" // the rows follow in a block
		}
		var args []any
		for _, p := range parameter.FindAllStringSubmatch(text, -1) {
			value := "1"
			switch p[2] {
			case "UUID":
				value = goldenRun
			case "Array(String)":
				value = "['1']"
			}
			args = append(args, named(p[1], value))
		}
		if err := w.admin.Exec(t.Context(), "EXPLAIN AST "+text, args...); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}
