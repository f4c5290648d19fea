package warehouse

import (
	"context"
	"fmt"

	"dealhouse/internal/catalog"
)

// When a stream gets another content hash, because it gets a column or the hash is made in another way, the hashes of
// its stored rows are computed again (warehouse-21). Otherwise every row would look changed once, and get a version
// without any change.
//
// Nobody may publish meanwhile, so the leases of all accounts are taken first. Each table says in the comment of its
// column _hash which hash it has. So the work may be killed at any statement and done again.

// ended makes a statement that writes rows again wait until they are written, also when a person runs it.
const ended = " SETTINGS mutations_sync = 1"

// hashStatements returns the statements that give the rows of a stream the hash of this binary. Staged rows come first:
// from then on no run compares rows with those of another hash. A derived table with hashes is marked as out of date,
// so that it is made again before the next run.
func (h stored) hashStatements(d dialect, s *catalog.Stream) (statements []string) {
	comment := func(table string) string {
		return sql("ALTER TABLE $table COMMENT COLUMN _hash $comment",
			parts{"table": table, "comment": quote(hashComment(s))})
	}
	old := func(table string) bool { return h.has(table) && h.hashes[table] != hashComment(s) }
	staging := stagingTable(s)
	if old(staging) {
		statements = append(statements, d.staging(rehash(s)),
			d.staging(sql("ALTER TABLE $staging MATERIALIZE COLUMN _hash"+ended, parts{"staging": staging})),
			d.staging(comment(staging)))
	}
	for _, table := range []string{versionsTable(s), latestTable(s)} {
		if old(table) {
			if keysTable(s) != "" {
				statements = append(statements, forgetDerived(s))
			}
			statements = append(statements, updateHashes(table, s), d.lasting(comment(table)))
		}
	}
	return statements
}

// rehash defines the content hash of staged rows.
func rehash(s *catalog.Stream) string {
	return sql("ALTER TABLE $staging MODIFY COLUMN _hash FixedString(16) MATERIALIZED $hash",
		parts{"staging": stagingTable(s), "hash": stagedHash(s)})
}

// updateHashes computes the hashes of a table again. Rows that already have the right hash are left alone, so that it
// costs little to repeat the statement after a lost connection.
func updateHashes(table string, s *catalog.Stream) string {
	return sql("ALTER TABLE $table UPDATE _hash = $hash WHERE _hash != $hash"+ended,
		parts{"table": table, "hash": storedHash(s)})
}

// forgetDerived notes that the derived tables of a stream are out of date.
func forgetDerived(s *catalog.Stream) string {
	return sql(`INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT account, stream, $derived, '', max(version) + 1 FROM sync_state_log
WHERE stream = $stream GROUP BY account, stream HAVING countIf(name = $derived) > 0`,
		parts{"derived": quote(stateDerived), "stream": quote(s.Name)})
}

// rehash gives the rows of a stream the hash of this binary.
func (w *Warehouse) rehash(ctx context.Context, s *catalog.Stream) error {
	h := holder{w: w, stream: s, leases: map[string]*Lease{}}
	if err := h.end(ctx, h.rehash(ctx)); err != nil {
		return fmt.Errorf("computing the hashes of %s: %w", s.Name, err)
	}
	return nil
}

func (h holder) rehash(ctx context.Context) error {
	if err := h.takeAndFinish(ctx); err != nil {
		return err
	}
	tables, err := h.w.migrator.stored(ctx)
	if err != nil {
		return err
	}
	h.w.log.Info("computing the content hashes of stored rows; this takes a while", "stream", h.stream.Name)
	for _, statement := range tables.hashStatements(h.w.dialect, h.stream) {
		for _, l := range h.leases {
			if err := l.Check(ctx); err != nil {
				return err
			}
		}
		if err := h.w.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
