package warehouse

import (
	"context"
	"fmt"
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
