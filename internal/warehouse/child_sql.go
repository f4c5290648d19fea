package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// The entries of a child are staged packed, together with their record, and are compared by one hash over all of
// them: most lists have not changed since the record was last read. Only if the hash differs are they unpacked and
// compared one by one.

func (x script) createChildHashesDelta() string {
	return x.dialect.createDelta(x.names["child_hashes"], x.names["child_hashes_delta"], createChildHashes(x.Stream))
}

func (x script) createChildDelta() string {
	return x.dialect.createDelta(x.names["child_latest"], x.names["child_delta"], createChildLatest(x.Stream))
}

// insertChildHashes fills the delta of the hashes with the lists that differ from those that were last loaded. A list
// that was read before the stored one keeps its time of reading, and so does not replace it. A stored time of reading
// that is in the future came from a clock that was wrong, and does not count.
func (x script) insertChildHashes(c Changes) string {
	return x.sqlFile("insert_child_hashes", parts{"hash": hashOfEntries(x.Stream.Child), "lists": x.stagedLists(c)})
}

// stagedLists returns the source of the staged lists, one of each record: that of the row which is loaded of it. FINAL
// takes the same one as stagedRows does. It is applied before any condition on other columns than the key.
func (x script) stagedLists(c Changes) string {
	if c.Distinct == c.Staged {
		return x.render("$staging", nil)
	}
	return x.render("$staging FINAL", nil)
}

// hashOfEntries returns the hash of the packed entries of a staged row. It also covers the values that the entries take
// from their record, and the names of the entries' fields. So when a field is added, every hash differs from the stored
// one. All entries are then compared one by one, once, and only those that really differ are written.
func hashOfEntries(c *catalog.Child) string {
	var names, inherited []string
	for _, f := range c.Fields {
		names = append(names, f.Column)
	}
	for _, f := range c.Inherit {
		inherited = append(inherited, f.Column)
	}
	return hashOf(append([]string{quote(strings.Join(names, " ")), "_entries"}, inherited...))
}

// insertChildDelta fills the delta of the child with the staged entries that are new or differ from the current ones.
// It looks only at the lists that differ. A stored time of reading that is in the future came from a clock that was
// wrong, and does not count.
func (x script) insertChildDelta(c Changes) string {
	fields := x.Stream.Child.AllFields()
	var stored, read, staged, differ []string
	for _, i := range childValues(x.Stream.Child) {
		name := fields[i].Column
		stored, read = append(stored, name), append(read, name+"_read")
		staged = append(staged, fromWire(fields, i)+" AS "+name+"_read")
		differ = append(differ, "NOT (s."+name+"_read <=> l."+name+")")
	}
	day := childKeyField(x.Stream.Child)
	lists := x.render("SELECT $key FROM $child_hashes_delta", nil)
	return x.sqlFile("insert_child_delta", parts{
		"day": fields[day].Column, "day_read": fields[day].Column + "_read", "staged_day": fromWire(fields, day), "stored": strings.Join(stored, ", "),
		"read":   strings.Join(read, ", "),
		"staged": strings.Join(staged, ", "), "differ": strings.Join(differ, " OR "), "lists": lists,
		"unpacked": x.unpacked(c, lists),
	})
}

// unpacked selects the entries of staged lists, one row each, in their wire form (catalog.Child.PackedSize).
func (x script) unpacked(c Changes, lists string) string {
	child := x.Stream.Child
	var inherited []string
	for _, f := range child.Inherit {
		inherited = append(inherited, f.Column)
	}
	repeated := strings.Join(inherited, ", ")
	values := []string{"reinterpret(substring(_entry, 1, 1), 'UInt8') AS _nulls"}
	at := 2
	for _, f := range child.Fields {
		values = append(values, fmt.Sprintf("reinterpret(substring(_entry, %d, %d), '%s') AS %s", at, f.PackedSize(),
			f.Type.Wire(), f.Column))
		at += f.PackedSize()
	}
	return x.render(`SELECT $key, $repeated, read, _entry, $values
        FROM
        (
            SELECT $key, $repeated, toUInt64(_fetched) AS read,
                arrayJoin(arrayMap(i -> substring(_entries, i * $size + 1, $size), range(intDiv(length(_entries), $size)))) AS _entry
            FROM $of
            WHERE run_id = {run:UUID} AND $key IN ($lists)
        )`, parts{"repeated": repeated, "values": strings.Join(values, ", "), "size": fmt.Sprint(child.PackedSize()),
		"lists": lists, "of": x.stagedLists(c)})
}
