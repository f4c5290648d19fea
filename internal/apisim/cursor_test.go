package apisim_test

import "dealhouse/internal/apisim"

func cursorKinds() []apisim.CursorKind {
	return []apisim.CursorKind{apisim.CursorNextID, apisim.CursorLastID, apisim.CursorOffset, apisim.CursorKeyset}
}
