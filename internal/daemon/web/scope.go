package web

import "dealhouse/internal/catalog"

// scopeJSON is a list of conditions, never null.
type scopeJSON []catalog.Condition

func newScopeJSON(s catalog.Scope) scopeJSON { return append(scopeJSON{}, s...) }

// loadedScope returns the scope of the last complete list of the stream, nil if this version cannot read it.
func (st *streamState) loadedScope() catalog.Scope {
	scope, err := catalog.ParseScope(st.standing.Scope)
	if err != nil {
		return nil
	}
	return scope
}

// scopeRow is the part of a stream that is loaded.
type scopeRow struct {
	Brief, Whole string
	Loaded       string // the part that is loaded until the next complete list, if it differs
}

// scope returns the part of the stream that is loaded, nil if all of it is loaded and should be.
func (st *streamState) scope() *scopeRow {
	loaded := st.loadedScope()
	wanted := st.Scope
	if !st.configured {
		wanted = loaded
	}
	if len(wanted) == 0 && len(loaded) == 0 {
		return nil
	}
	row := scopeRow{Brief: capitalized(wanted.Brief()), Whole: wanted.Or("all rows")}
	if len(wanted) == 0 {
		row.Brief = "All rows"
	}
	if wanted.Encode() == loaded.Encode() {
		return &row
	}
	row.Loaded = "not loaded yet"
	if st.standing.LastSuccess != nil {
		row.Loaded = "loaded so far: " + loaded.Or("all rows")
	}
	return &row
}
