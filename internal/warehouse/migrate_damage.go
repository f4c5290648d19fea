package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DroppedError says that somebody has dropped tables of the warehouse. They are not made again by themselves: the state
// of their streams says that their rows are loaded, so no run would load these again.
type DroppedError struct{ Tables []string }

func (e *DroppedError) Error() string {
	return fmt.Sprintf("the warehouse has lost what it had in %s, which somebody has dropped: restore a backup, "+
		"or give warehouse.database another name and load everything again", strings.Join(e.Tables, ", "))
}

var (
	createsObject = regexp.MustCompile(`^CREATE (?:OR REPLACE )?(TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)(?:\s|$)`)
	dropsObject   = regexp.MustCompile(`^DROP (?:TABLE|VIEW) IF EXISTS (\w+)`)
)

// madeBy returns the tables and views that migrations leave behind, and which of them are views.
func madeBy(migrations ...migration) map[string]bool {
	objects := map[string]bool{}
	for _, m := range migrations {
		for _, s := range m.statements {
			if create := createsObject.FindStringSubmatch(s); create != nil {
				objects[create[2]] = create[1] == "VIEW"
			} else if drop := dropsObject.FindStringSubmatch(s); drop != nil {
				delete(objects, drop[1])
			}
		}
	}
	return objects
}

// damaged reports whether somebody has dropped or changed what the record says is there. Nothing is compared with a
// warehouse of another generation: its views are those of another version.
func (m migrator) damaged(have stored, applied map[uint32]appliedMigration, files []migration, streams migration) (bool, error) {
	found := applied[streamsVersion]
	if found.sum == "" || found.generation != streams.generation {
		return false, nil
	}
	made := slices.DeleteFunc(slices.Clone(files), func(f migration) bool { return applied[f.version].sum == "" })
	return have.damaged(madeBy(append(made, streams)...), found)
}

// viewsNow returns a checksum of the views that this binary has made, as the warehouse has them.
func (m migrator) viewsNow(ctx context.Context) (string, error) {
	files, err := m.numbered(m.pool.dialect)
	if err != nil {
		return "", err
	}
	streams, err := m.streams(m.pool.dialect)
	if err != nil {
		return "", err
	}
	have, err := m.stored(ctx)
	if err != nil {
		return "", err
	}
	return have.viewsSum(madeBy(append(files, streams)...)), nil
}

// damaged compares the tables and views that were made with those that are there. It reports whether views, or tables
// that keep nothing, have to be made again, because somebody has dropped or changed them. applied is the record of all
// that is wanted. The error is a *DroppedError.
func (h stored) damaged(wanted map[string]bool, applied appliedMigration) (bool, error) {
	again := applied.views != "" && applied.views != h.viewsSum(wanted)
	var dropped []string
	for name, isView := range wanted {
		engine, exists := h.engines[name]
		switch {
		case exists && (engine == "View") == isView:
		case isView && exists:
			return false, fmt.Errorf("%s is a table of somebody else, and the warehouse has a view of that name: rename the table", name)
		case isView, strings.HasSuffix(name, "_staging"):
			again = true
		default:
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		return false, &DroppedError{dropped}
	}
	return again, nil
}

// viewsSum returns a checksum of the definitions that the wanted views have now.
func (h stored) viewsSum(wanted map[string]bool) string {
	var all []string
	for name, isView := range wanted {
		if isView {
			all = append(all, name+" "+h.views[name])
		}
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:])
}
