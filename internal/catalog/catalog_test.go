package catalog

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestInvariants checks what doc.go says of the streams.
func TestInvariants(t *testing.T) {
	for _, problem := range problems(streams) {
		t.Error(problem)
	}
}

// TestInvariantsCanFail breaks a copy of the catalog in every way that an invariant forbids.
func TestInvariantsCanFail(t *testing.T) {
	for _, test := range []struct {
		invariant, what string
		spoil           func(map[string]*Stream)
	}{
		{"catalog-1", "two keys", func(s map[string]*Stream) { s["coupons"].Fields[1].Key = true }},
		{"catalog-1", "no key", func(s map[string]*Stream) { s["coupons"].Fields[0].Key = false }},
		{"catalog-1", "a key and a rule", func(s map[string]*Stream) { s["products"].Fields[1].Key = true }},
		{"catalog-1", "a child without a key", func(s map[string]*Stream) { s["products"].Child.Fields[0].Key = false }},
		{"catalog-2", "a column twice", func(s map[string]*Stream) { s["payouts"].Fields[2].Column = "id" }},
		{"catalog-2", "a field twice", func(s map[string]*Stream) { s["payouts"].Fields[2].JSON = "id" }},
		{"catalog-2", "another spelling", func(s map[string]*Stream) { s["payouts"].Fields[2].Column = "gmv" }},
		{"catalog-2", "an underscore", func(s map[string]*Stream) { f := &s["payouts"].Fields[2]; f.JSON, f.Column = "_gmv", "_gmv" }},
		{"catalog-2", "a column of the warehouse",
			func(s map[string]*Stream) { f := &s["payouts"].Fields[2]; f.JSON, f.Column = "syncedAt", "synced_at" }},
		{"catalog-2", "a column of the parent",
			func(s map[string]*Stream) { s["products"].Child.Inherit[0].Column = "views" }},
		{"catalog-3", "65 fields that can be absent", func(s map[string]*Stream) {
			for i := range 65 {
				name := fmt.Sprintf("more%d", i)
				s["coupons"].Fields = append(s["coupons"].Fields, Field{JSON: name, Column: name, Type: Int})
			}
		}},
		{"catalog-11", "an entry with a text", func(s map[string]*Stream) { s["products"].Child.Fields[2].Type = Text }},
		{"catalog-11", "an entry with 9 fields that can be absent", func(s map[string]*Stream) {
			for i := range 7 {
				name := fmt.Sprintf("more%d", i)
				s["products"].Child.Fields = append(s["products"].Child.Fields, Field{JSON: name, Column: name, Type: Int})
			}
		}},
		{"catalog-12", "a filter of a stream that is no snapshot",
			func(s map[string]*Stream) { s["transactions"].Filters = s["coupons"].Filters }},
		{"catalog-12", "a filter of no column",
			func(s map[string]*Stream) { s["coupons"].Filters = []Filter{{Name: "city", Column: "city"}} }},
		{"catalog-12", "a filter of a number",
			func(s map[string]*Stream) { s["coupons"].Filters = []Filter{{Name: "end", Column: "end_date"}} }},
		{"catalog-5", "a name twice", func(s map[string]*Stream) { s["coupons"].Name = "promotions" }},
		{"catalog-5", "a path twice", func(s map[string]*Stream) { s["coupons"].Path = s["promotions"].Path }},
		{"catalog-5", "a view twice", func(s map[string]*Stream) { s["coupons"].AllView = "promotions" }},
		{"catalog-5", "no view of all that is known", func(s map[string]*Stream) { s["coupons"].AllView = "" }},
		{"catalog-5", "a view of all that cannot be read",
			func(s map[string]*Stream) { s["payouts"].AllView = "payouts_all" }},
		{"catalog-6", "a reference to nothing",
			func(s map[string]*Stream) { field(s["transactions"], "couponId").RefersTo = "nothing" }},
		{"catalog-6", "a reference of another type",
			func(s map[string]*Stream) { field(s["transactions"], "couponId").Type = Text }},
		{"catalog-7", "no payouts", func(s map[string]*Stream) { s["payouts"].Payouts = false }},
		{"catalog-7", "two streams of payouts", func(s map[string]*Stream) { s["coupons"].Payouts = true }},
		{"catalog-7", "nobody names payouts", func(s map[string]*Stream) {
			field(s["transactions"],
				"payoutId").RefersTo = ""
		}},
		{"catalog-7", "two name payouts", func(s map[string]*Stream) {
			field(s["products"],
				"ratingCount").RefersTo = "payouts"
		}},
		{"catalog-8", "a watermark from nowhere",
			func(s map[string]*Stream) { field(s["transactions"], "updatedAt").Version = false }},
		{"catalog-8", "never read as a whole", func(s map[string]*Stream) { s["transactions"].Resync = "" }},
		{"catalog-8", "always read as a whole", func(s map[string]*Stream) { s["coupons"].Resync = "@daily" }},
		{"catalog-8", "a walk that cannot be resumed", func(s map[string]*Stream) { s["products"].Paging = CursorPages }},
		{"catalog-9", "days of another stream",
			func(s map[string]*Stream) { s["transactions"].ByDay.View = "product_prices" }},
		{"catalog-9", "a day that is none", func(s map[string]*Stream) { s["transactions"].ByDay.Column = "status" }},
		{"catalog-9", "decisions without a status", func(s map[string]*Stream) {
			f := field(s["transactions"], "status")
			f.JSON, f.Column = "state", "state"
		}},
		{"catalog-9", "a status that is not marked as one", func(s map[string]*Stream) {
			field(s["transactions"], "status").Status = false
		}},
		{"catalog-9", "two streams with a child", func(s map[string]*Stream) {
			child := *s["products"].Child
			child.Table = "coupon_prices"
			s["coupons"].Child = &child
		}},
		{"catalog-10", "ordered by what is no time", func(s map[string]*Stream) { s["transactions"].OrderedBy = "status" }},
		{"catalog-10", "ordered by what is not there",
			func(s map[string]*Stream) { s["transactions"].OrderedBy = "made_at" }},
		{"catalog-10", "ordered without a history", func(s map[string]*Stream) { s["transactions"].History = false }},
		{"catalog-10", "ordered and read record by record", func(s map[string]*Stream) { s["transactions"].ByID = true }},
		{"catalog-10", "ordered with a child", func(s map[string]*Stream) { s["transactions"].Child = s["products"].Child }},
		{"catalog-10", "looked up by what is no string",
			func(s map[string]*Stream) { s["transactions"].LookedUpBy = []string{"payout_id"} }},
		{"catalog-9", "decisions without a history", func(s map[string]*Stream) { s["transactions"].History = false }},
	} {
		broken, byName := deepCopy(), map[string]*Stream{}
		for i := range broken {
			byName[broken[i].Name] = &broken[i]
		}
		test.spoil(byName)
		found := problems(broken)
		if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, test.invariant+": ") }) {
			t.Errorf("%s: %s: not found; found %q", test.invariant, test.what, found)
		}
	}
	if found := problems(deepCopy()); len(found) > 0 {
		t.Errorf("a copy that is whole: %q", found)
	}
}

// deepCopy returns a copy of the catalog that tests may damage.
func deepCopy() []Stream {
	all := slices.Clone(streams)
	for i := range all {
		s := &all[i]
		s.Fields = slices.Clone(s.Fields)
		if s.Child != nil {
			child := *s.Child
			child.Fields, child.Inherit = slices.Clone(child.Fields), slices.Clone(child.Inherit)
			s.Child = &child
		}
		if s.ByDay != nil {
			days := *s.ByDay
			s.ByDay = &days
		}
	}
	return all
}

func field(s *Stream, json string) *Field {
	return &s.Fields[s.index(func(f Field) bool { return f.JSON == json })]
}

// problems lists what breaks the invariants of doc.go.
func problems(all []Stream) (found []string) {
	add := func(invariant int, format string, args ...any) {
		found = append(found, fmt.Sprintf("catalog-%d: ", invariant)+fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	once := func(kind, name string) {
		if name == "" || seen[kind+name] {
			add(5, "the %s %q is not one of its own", kind, name)
		}
		seen[kind+name] = true
	}
	payouts, naming, children := 0, 0, 0
	for i := range all {
		s := &all[i]
		complain := func(invariant int, format string, args ...any) { add(invariant, s.Name+" "+format, args...) }
		keyProblems(s, complain)
		fieldProblems(s, complain)
		behaviourProblems(s, complain)
		once("path", s.Path)
		once("view", s.Name)
		if s.Child != nil {
			once("view", s.Child.Table)
			children++
		}
		if s.ByID != (s.AllView != "") {
			complain(5, "can be read by ID: %v; its view of all known records is %q", s.ByID, s.AllView)
		} else if s.ByID {
			once("view", s.AllView)
		}
		if s.Payouts {
			payouts++
		}
		for _, f := range s.Fields {
			if f.RefersTo == "" {
				continue
			}
			to := slices.IndexFunc(all, func(o Stream) bool { return o.Name == f.RefersTo })
			if to < 0 || !all[to].DerivedKey && all[to].KeyField() < 0 || f.Type != all[to].KeyType() {
				complain(6, "has a field %s that is no key of %q", f.JSON, f.RefersTo)
			} else if all[to].Payouts {
				naming++
			}
		}
	}
	if payouts != 1 || naming != 1 {
		add(7, "%d streams of payouts, %d fields that name one", payouts, naming)
	}
	if children > 1 {
		add(9, "%d streams with a child", children)
	}
	return found
}

func keyProblems(s *Stream, complain func(int, string, ...any)) {
	keys := len(slices.DeleteFunc(slices.Clone(s.Fields), func(f Field) bool { return !f.Key }))
	if s.DerivedKey && keys != 0 || !s.DerivedKey && keys != 1 {
		complain(1, "has %d keys; derived: %v", keys, s.DerivedKey)
	}
	if s.Child != nil {
		if n := len(slices.DeleteFunc(slices.Clone(s.Child.Fields), func(f Field) bool { return !f.Key })); n != 1 {
			complain(1, "has entries with %d keys", n)
		}
		absent := 0
		for i, f := range s.Child.Fields {
			if wire := f.Type.Wire(); wire != "Int64" && wire != "UInt16" {
				complain(11, "has entries whose %s is a %s", f.JSON, wire)
			}
			absent = max(absent, NullBits(s.Child.Fields)[i]+1)
		}
		if absent > 8 {
			complain(11, "has entries with %d fields that can be absent", absent)
		}
	}
}

func fieldProblems(s *Stream, complain func(int, string, ...any)) {
	tables := [][]Field{s.Fields}
	if s.Child != nil {
		tables = append(tables, s.Child.AllFields())
	}
	for _, fields := range tables {
		names := map[string]bool{"account": true, "synced_at": true}
		if s.DerivedKey {
			names[DerivedKeyColumn], names[KeyRuleColumn] = true, true
		}
		spellings := map[string]bool{}
		absent := 0
		for _, f := range fields {
			if names[f.Column] || spellings[f.JSON] || strings.HasPrefix(f.Column, "_") {
				complain(2, "has a column %q of the field %q, a name that is taken", f.Column, f.JSON)
			}
			names[f.Column], spellings[f.JSON] = true, true
			if want := columnOf(s, f); f.Column != want {
				complain(2, "has a column %q for %s, want %q", f.Column, f.JSON, want)
			}
			if f.Nullable() {
				absent++
			}
		}
		if absent > 64 {
			complain(3, "has %d fields that can be absent", absent)
		}
	}
}

// columnOf returns the name that a field's column should have.
func columnOf(s *Stream, f Field) string {
	if s.ByID && (f.JSON == "name" || f.JSON == "logo") {
		return "retailer_" + f.JSON
	}
	if f.JSON == "yearMonthDay" { // three words for one thing
		return "day"
	}
	var b strings.Builder
	for _, r := range f.JSON {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

func behaviourProblems(s *Stream, complain func(int, string, ...any)) {
	if s.Schedule == "" {
		complain(8, "has no default schedule")
	}
	if incremental := s.Kind == Incremental; incremental != (s.Resync != "") || incremental && s.VersionField() < 0 {
		complain(8, "is %s, has a resync %q and a version field at %d", s.Kind, s.Resync, s.VersionField())
	}
	if s.Kind == Walk && s.Paging != NextPages {
		complain(8, "is a walk without tokens")
	}
	if d := s.ByDay; d != nil {
		var fields []Field
		switch {
		case d.View == s.Name:
			fields = s.Fields
		case s.Child != nil && d.View == s.Child.Table:
			fields = s.Child.Fields
		}
		if !slices.ContainsFunc(fields, func(f Field) bool {
			return f.Column == d.Column &&
				(f.Type == Time || f.Type == Day)
		}) {
			complain(9, "is counted by %s of %s, which is not a day of it", d.Column, d.View)
		}
	}
	if i := s.OrderField(); s.OrderedBy != "" &&
		(i < 0 || s.Fields[i].Type != Time || !s.History || s.ByID || s.Child != nil) {
		complain(10, "is ordered by %q", s.OrderedBy)
	}
	for _, column := range s.LookedUpBy {
		if i := s.index(func(f Field) bool { return f.Column == column }); i < 0 || s.Fields[i].Type != Text {
			complain(10, "is looked up by %q", column)
		}
	}
	for _, f := range s.Filters {
		i := s.Field(f.Column)
		if s.Kind != Snapshot || s.Paging != CursorPages || !s.ByID || i < 0 || s.Fields[i].Type != Label &&
			s.Fields[i].Type != LabelList {
			complain(12, "has a filter %s by %q", f.Name, f.Column)
		}
	}
	if s.NamesPayouts() && (!s.History || s.index(func(f Field) bool { return f.Column == "status" && f.Status }) < 0) {
		complain(9, "has sales without a history or a status")
	}
}

// TestCatalogStandsAlone checks catalog-4: the package imports nothing of this project, assigns nothing to what it
// holds, and has no function that runs by itself.
func TestCatalogStandsAlone(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range dependence(t, e.Name(), string(text)) {
			t.Error(problem)
		}
	}
	for _, broken := range []string{
		`package catalog; import "dealhouse/internal/config"; var _ = config.FileName`,
		`package catalog; func init() {}`,
		`package catalog; func f() { streams = nil }`,
		`package catalog; func f() { streams[0].Fields[1].Key = true }`,
		`package catalog; func f() { types[Text].scale++ }`,
	} {
		if len(dependence(t, "broken.go", broken)) == 0 {
			t.Errorf("not found: %s", broken)
		}
	}
}

// dependence lists what a file has that the catalog must not have.
func dependence(t *testing.T, name, text string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		if strings.HasPrefix(i.Path.Value, `"dealhouse/`) {
			found = append(found, name+" imports "+i.Path.Value)
		}
	}
	changed := func(target ast.Expr) {
		for {
			switch e := target.(type) {
			case *ast.SelectorExpr:
				target = e.X
			case *ast.IndexExpr:
				target = e.X
			case *ast.Ident:
				if e.Name == "streams" || e.Name == "types" || e.Name == "kinds" {
					found = append(found, name+" changes "+e.Name)
				}
				return
			default:
				return
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				found = append(found, name+" runs by itself")
			}
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				changed(target)
			}
		case *ast.IncDecStmt:
			changed(n.X)
		}
		return true
	})
	return found
}
