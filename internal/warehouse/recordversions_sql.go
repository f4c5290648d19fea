package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// selectRecordVersions selects all versions of some records. Parameters: account and keys.
func selectRecordVersions(s *catalog.Stream) string {
	var names, types []string
	for _, c := range append(keyColumns(s), dataColumns(s)...) {
		names, types = append(names, c.name), append(types, c.name+" "+c.typ)
	}
	updated := "CAST(NULL AS Nullable(DateTime64(3, 'UTC')))"
	if i := s.VersionField(); i >= 0 {
		updated = "toNullable(" + s.Fields[i].Column + ")"
	}
	key := keyColumns(s)[0]
	return sql(`SELECT toString($key), synced_at, $updated, _deleted = 1, lower(hex(_hash)), toString(_run_id),
    toJSONString(CAST(tuple($names) AS Tuple($types)))
FROM $versions
WHERE account = {account:String} AND $key IN (SELECT CAST(arrayJoin({keys:Array(String)}) AS $type))
ORDER BY indexOf({keys:Array(String)}, toString($key)), _version, synced_at
SETTINGS output_format_json_named_tuples_as_objects = 1, output_format_json_quote_64bit_integers = 0,
    output_format_json_quote_decimals = 0, output_format_json_escape_forward_slashes = 0`, parts{
		"key": key.name, "type": key.typ, "updated": updated, "names": strings.Join(names, ", "),
		"types": strings.Join(types, ", "), "versions": versionsTable(s),
	})
}
