package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dealhouse/internal/catalog"
)

// RecordVersion is a version of a record as it was loaded.
type RecordVersion struct {
	Key       string
	LoadedAt  time.Time
	UpdatedAt *time.Time // of the service; nil: it says none
	Deleted   bool       // it was found gone; Content is then what it was before
	Hash      string     // of the content, by which the warehouse tells versions apart, in hexadecimal digits
	RunID     string     // that loaded it
	Content   string     // every field as it was loaded, as JSON with the names of the columns
}

// versionKeys is how many records are read at once.
const versionKeys = 200

// RecordVersions reads all versions of records of an account, in the order of the keys, the oldest of each first.
func (r Reader) RecordVersions(ctx context.Context, s *catalog.Stream, account string,
	keys []string) ([]RecordVersion, error) {
	var all []RecordVersion
	for len(keys) > 0 {
		n := min(len(keys), versionKeys)
		rows, err := r.retrying.Query(ctx, selectRecordVersions(s), named("account", account),
			named("keys", "["+words(keys[:n])+"]"))
		some, err := scanned(rows, err, func(v *RecordVersion) []any {
			return []any{&v.Key, &v.LoadedAt, &v.UpdatedAt, &v.Deleted, &v.Hash, &v.RunID, &v.Content}
		})
		if err != nil {
			return nil, fmt.Errorf("reading the versions of %s: %w", s.Name, err)
		}
		all, keys = append(all, some...), keys[n:]
	}
	return all, nil
}

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
	return sql(`SELECT toString($key), synced_at, $updated, _deleted = 1, lower(hex(_hash)), toString(_run_id), toJSONString(CAST(tuple($names) AS Tuple($types)))
FROM ${stream}_versions
WHERE account = {account:String} AND $key IN (SELECT CAST(arrayJoin({keys:Array(String)}) AS $type))
ORDER BY indexOf({keys:Array(String)}, toString($key)), _version, synced_at
SETTINGS output_format_json_named_tuples_as_objects = 1, output_format_json_quote_64bit_integers = 0, output_format_json_quote_decimals = 0, output_format_json_escape_forward_slashes = 0`, parts{
		"key": key.name, "type": key.typ, "updated": updated, "names": strings.Join(names, ", "),
		"types": strings.Join(types, ", "), "stream": s.Name,
	})
}
