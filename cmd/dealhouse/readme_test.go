//go:build !noengine

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
)

// TestDocuments runs every command and every query of the documents as their readers would. The reader of the README
// begins in an empty folder and loads a warehouse; each of the other documents is read by someone who has done that, in
// a copy of that folder. It compiles the simulator and loads its world, so it is for wide samples; without one, other
// tests here hold the commands, flags, names and links of the documents against the program.
func TestDocuments(t *testing.T) {
	enginetest.OnlyWide(t)
	u := newUser(t)
	done := map[string]int{} // blocks by what became of them
	u.read(t, readDocument(t, "README.md"), done)
	for _, d := range readDocuments(t) {
		if d.path == "README.md" {
			continue
		}
		if !slices.ContainsFunc(d.blocks, func(b block) bool { return b.language == "sh" || b.language == "sql" }) {
			continue
		}
		t.Run(d.path, func(t *testing.T) {
			t.Parallel()
			done := map[string]int{}
			v := u.another(t)
			v.truth = &answers{api: u.api, got: map[string][]map[string]any{}}
			v.read(t, d, done)
			if done["sql"] > 0 && d.path == "schema/README.md" && done["checked"] < 8 {
				t.Errorf("%d of %d queries were held against the API", done["checked"], done["sql"])
			}
		})
	}
	if done["sh"] < 5 {
		t.Errorf("only %d blocks of the README were run: it has another form than this test reads", done["sh"])
	}
}

// read does what the document says, from its beginning to its end.
func (u *user) read(t *testing.T, d document, done map[string]int) {
	t.Helper()
	defer u.leave(t)
	if slices.ContainsFunc(d.blocks, func(b block) bool { return strings.Contains(b.text, "9464") }) &&
		d.path != "README.md" {
		u.line(t, "dealhouse run") // it is about the daemon: its reader has it running
	}
	for _, b := range d.blocks {
		kind, _, _ := strings.Cut(b.mark, ":")
		switch {
		case b.language == "sql" && kind != "not run":
			u.ask(t, b.text, done)
		case b.language != "sh", kind == "not run", kind == "run by .ci/run": // TestEveryBlockIsAccountedFor looks at these
			continue
		case kind == "compiles":
			if os.Getenv(compileVariable) == "" {
				continue
			}
			u.run(t, filepath.FromSlash(repository), u.replace.Replace(b.text))
		default:
			u.lookedEnough(t)
			for line := range strings.Lines(b.text) {
				u.line(t, strings.TrimSpace(line))
			}
		}
		done[b.language]++
	}
}

// empty are queries that may have nothing to show.
var empty = []string{"FROM rejected_records", "WHERE NOT ok", "FROM cashback_offers_history"}

// ask asks as the documents say to, of an engine that stays open from one query to the next: to open it takes longer.
func (u *user) ask(t *testing.T, sql string, done map[string]int) {
	t.Helper()
	if u.looking == nil {
		u.looking = u.up(t, "dealhouse serve-warehouse --listen "+u.door, "http://"+u.door+"/ping")
	}
	out := u.runWith(t, u.dir, sql, "DEALHOUSE_WAREHOUSE_DSN=http://"+u.door+"/dealhouse dealhouse query - --output jsonl")
	var rows []map[string]any
	for line := range strings.Lines(out) {
		var row map[string]any
		parseJSON(t, []byte(line), &row)
		rows = append(rows, row)
	}
	if len(rows) == 0 && !slices.ContainsFunc(empty, func(part string) bool { return strings.Contains(sql, part) }) {
		t.Errorf("no rows from\n%s", sql)
	}
	if u.truth != nil && u.truth.check(t, sql, rows) {
		done["checked"]++
	}
}
