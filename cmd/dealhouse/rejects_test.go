//go:build !noengine

package main

import (
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// rejects reads hostile records, lists them, and loads what can be read.
func (b *bench) rejects(t *testing.T) {
	hostile := `{"id":"none","code":"\u001b[2J` + "\u202e\u009b31m" + `","n":1.10000000000000000001,"text":"` +
		strings.Repeat("x", 500) + `"}`
	if err := b.sim.Put(apisim.StreamCoupons, "", []byte(hostile)); err != nil {
		t.Fatal(err)
	}
	rows, _ := b.sync(t, 0, "coupons", "--account", "acme")
	run := rows["acme coupons"].RunID

	got := b.call(t, "rejects")
	got.want(t, 0)
	got.shows(t, "acme     coupons", "unusable_key  open", `\u202e\u009b31m`, "…")
	if strings.ContainsAny(got.out, "\x1b\u202e\u009b") || strings.Count(got.out, "\n") != 3 {
		t.Errorf("%q", got.out)
	}
	b.call(t, "rejects", "--stream", "coupons", "--since", "1h", "--account", "acme", "--reason", decode.ReasonUnusableKey,
		"--run", run).shows(t, "unusable_key")
	for _, other := range enginetest.Spread([][]string{{"--stream", "payouts"}, {"--account", "globex"}, {"--reason", "rounded"},
		{"--field", "code"}, {"--since", "2100-01-01"}, {"--run", uuid.NewString()}}, 2) {
		if got := b.call(t, append([]string{"rejects", "-o", "jsonl"}, other...)...); got.code != 0 || got.out != "" {
			t.Errorf("%v: %+v", other, got)
		}
	}
	var line struct {
		Raw   json.RawMessage
		State string
		RunID string `json:"run_id"`
	}
	lines := b.call(t, "rejects", "--output", "jsonl").out
	if err := json.Unmarshal([]byte(lines), &line); err != nil || !sameJSON(line.Raw, hostile) || line.RunID != run ||
		strings.Count(lines, "\n") != 1 {
		t.Errorf("%v: %s", err, lines)
	}
	if all, err := csv.NewReader(strings.NewReader(b.call(t, "rejects", "-o", "csv").out)).ReadAll(); err != nil ||
		len(all) != 2 || all[1][7] != term.Cell(hostile) {
		t.Errorf("%v: %q", err, all)
	}

	// This version still can't read it, but reads what another could not.
	got = b.call(t, "rejects", "retry")
	got.want(t, 0, "rejected=1")
	got.shows(t, "acme     coupons      1       0         1           0")
	const id = "00000000-0000-4000-8000-000000000001"
	b.keepReject(t, run, `{"id":"`+id+`","code":"readable now"}`)
	type counts struct {
		Outcome                                       string
		Tried, Loaded, Rejected, Superseded, Inserted int
	}
	for _, test := range []struct {
		args []string
		want counts
	}{
		{[]string{"--dry-run"}, counts{"dry_run", 2, 1, 1, 0, 1}},
		{nil, counts{"success", 2, 1, 1, 0, 1}},
		{nil, counts{"success", 1, 0, 1, 0, 0}},
	} {
		got := parse[counts](t, b.call(t, append([]string{"rejects", "retry", "-o", "json"}, test.args...)...).out)
		if len(got) != 1 || got[0] != test.want {
			t.Errorf("%v: %+v, want %+v", test.args, got, test.want)
		}
	}
	b.call(t, "query", "SELECT code FROM coupons WHERE id = '"+id+"'").shows(t, "readable now")
	b.call(t, "runs", "--limit", "1").shows(t, "coupons", "retry", "success")
	b.call(t, "rejects", "--all").shows(t, "loaded", "open")
	if got := b.call(t, "rejects"); strings.Contains(got.out, "loaded") {
		t.Error(got.out)
	}
	got = b.call(t, "rejects", "retry", "--account", "globex")
	got.want(t, 0, "nothing to retry")
}

// sameJSON reports that two texts are the same value, whatever is escaped.
func sameJSON(a json.RawMessage, b string) bool {
	var x, y map[string]any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// keepReject adds a reject to a run of coupons.
func (b *bench) keepReject(t *testing.T, run, raw string) {
	t.Helper()
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: warehouse.EmbeddedScheme + b.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // the folder is held open by the test
	s, err := catalog.Find(apisim.StreamCoupons)
	if err != nil {
		t.Fatal(err)
	}
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := warehouse.Run{ID: uuid.MustParse(run), Account: "acme", Stream: s}
	if err := w.Writer(r).Reject(t.Context(),
		[]decode.Reject{{Page: 1, Fetched: now.UnixMicro(), Reason: decode.ReasonUnusableKey, Raw: raw}}); err != nil {
		t.Fatal(err)
	}
}
