package warehouse

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Audit is what the certificates of a stream say of what is stored now.
type Audit struct {
	Account, Stream string
	Certificates    int // in the chain, from the newest back
	Rows            uint64
	Findings        []AuditFinding
}

// Kinds of AuditFinding.
const (
	FoundAltered     = "altered"     // a row has other columns than its hash says
	FoundRows        = "rows"        // the rows that readers see are not those of the last certificate
	FoundRun         = "run"         // the versions that a run has written are not those that it certified
	FoundCertificate = "certificate" // a certificate was altered or removed, or does not say what its run says
	FoundRestated    = "restated"    // a run found other rows than the run before it had left
)

// AuditFinding is something that was changed by something else than a run.
type AuditFinding struct {
	Kind string
	Key  string // of the row, if one is known
	Run  string // whose row or certificate it is, if that is known
	What string // a sentence
}

// auditor audits one stream.
type auditor struct {
	Reader
	id     StreamID
	stream *catalog.Stream
	limit  int
	public ed25519.PublicKey // nil: signatures are not looked at
	audit  *Audit
	chain  map[string]*Certificate // by the run
	// forgotten are runs from whose versions what names a person was removed.
	forgotten map[string]bool
	cut       time.Time // runs that began before may have been removed because of their age
	begun     time.Time // when the oldest run of the chain began
}

// AuditCertificates holds what is stored against the certificates, of each stream of each account that has one, and
// names at most limit rows of each. With a public key, every certificate must be signed by its private key, from the
// first one on that is signed. Nothing is asked of the API, and nothing is changed.
func (r Reader) AuditCertificates(ctx context.Context, chosen func(StreamID) bool, limit int, public ed25519.PublicKey) ([]Audit, error) {
	heads, err := r.certificateHeads(ctx)
	if err != nil {
		return nil, err
	}
	var all []Audit
	for id, head := range heads {
		stream, err := catalog.Find(id.Stream)
		if err != nil || !chosen(id) {
			continue
		}
		a := auditor{Reader: r, id: id, stream: stream, limit: limit, public: public}
		if err := a.settle(ctx, head); err != nil {
			return nil, fmt.Errorf("auditing %s of account %s: %w", id.Stream, id.Account, err)
		}
		all = append(all, *a.audit)
	}
	slices.SortFunc(all, func(x, y Audit) int {
		return cmp.Or(strings.Compare(x.Account, y.Account), strings.Compare(x.Stream, y.Stream))
	})
	return all, nil
}

// certificateHead is the last certificate of a stream, and how many runs are being published.
type certificateHead struct {
	text    string
	intents uint64
}

func (r Reader) certificateHeads(ctx context.Context) (map[StreamID]certificateHead, error) {
	type state struct {
		id   StreamID
		head certificateHead
	}
	rows, err := r.retrying.Query(ctx, selectCertificateStates)
	states, err := scanned(rows, err, func(s *state) []any { return []any{&s.id.Account, &s.id.Stream, &s.head.text, &s.head.intents} })
	if err != nil {
		return nil, fmt.Errorf("reading the last certificates: %w", err)
	}
	heads := map[StreamID]certificateHead{}
	for _, s := range states {
		heads[s.id] = s.head
	}
	return heads, nil
}

// A run that publishes while the audit reads makes it find what is not there. So what it finds counts only if nothing
// was published meanwhile.
const (
	auditTurns = 20
	auditPause = time.Second
)

// settle audits the stream until nothing is found, or nothing was published meanwhile.
func (a *auditor) settle(ctx context.Context, head certificateHead) error {
	for range auditTurns {
		a.audit, a.chain, a.forgotten = &Audit{Account: a.id.Account, Stream: a.id.Stream}, map[string]*Certificate{}, map[string]bool{}
		if err := a.run(ctx, head.text); err != nil || len(a.audit.Findings) == 0 {
			return err
		}
		heads, err := a.certificateHeads(ctx)
		if err != nil || heads[a.id] == head && head.intents == 0 {
			return err
		}
		head = heads[a.id]
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(auditPause):
		}
	}
	return errors.New("its runs publish without a pause, or one of them died while it did: try again after the next run")
}

func (a *auditor) found(kind, key, run, what string, args ...any) {
	a.audit.Findings = append(a.audit.Findings, AuditFinding{kind, key, run, fmt.Sprintf(what, args...)})
}

func (a *auditor) run(ctx context.Context, head string) error {
	var last Certificate
	if err := json.Unmarshal([]byte(head), &last); err != nil {
		a.found(FoundCertificate, "", "", "the last certificate in sync_state cannot be read: %s", err)
		return nil
	}
	if err := a.follow(ctx, hashOfCertificate(head), last); err != nil {
		return err
	}
	if last.Content != ContentName(a.stream) {
		return nil // the columns have changed since: the next run certifies them anew
	}
	return a.look(ctx, last)
}

// certified is a row of sync_runs with its certificate.
type certified struct {
	run, text, signature             string
	started                          time.Time
	read, inserted, updated, deleted uint64
}

// follow goes from the last certificate back to the first that is kept.
func (a *auditor) follow(ctx context.Context, head string, last Certificate) error {
	rows, err := a.retrying.Query(ctx, selectCertificates, named("account", a.id.Account), named("stream", a.id.Stream))
	runs, err := scanned(rows, err, func(c *certified) []any {
		return []any{&c.run, &c.text, &c.signature, &c.started, &c.read, &c.inserted, &c.updated, &c.deleted}
	})
	if err == nil {
		err = a.retrying.QueryRow(ctx, selectRunsCut).Scan(&a.cut)
	}
	if err != nil {
		return err
	}
	byHash := map[string]certified{}
	for _, r := range runs {
		byHash[hashOfCertificate(r.text)] = r
	}
	if _, there := byHash[head]; !there {
		a.found(FoundCertificate, "", last.Run, "the last certificate is not the one that sync_runs has of its run")
	}
	var after *Certificate
	var unsigned []string // runs, newer than those that were looked at
	for hash := head; hash != ""; {
		row, there := byHash[hash]
		if !there {
			break // older than what is kept, or altered: then it is left over below
		}
		delete(byHash, hash)
		var c Certificate
		if err := json.Unmarshal([]byte(row.text), &c); err != nil {
			a.found(FoundCertificate, "", row.run, "the certificate cannot be read: %s", err)
			break
		}
		a.compare(row, c, after)
		unsigned = a.verify(row, unsigned)
		a.chain[c.Run], after, hash, a.begun = &c, &c, c.Previous, row.started
		for _, run := range c.Forgotten {
			a.forgotten[run] = true
		}
		a.audit.Certificates++
	}
	a.leftOver(byHash, after)
	return nil
}

// verify checks the signature of a certificate. Certificates from before there was a key have none, so those without
// one count only once an older one has one. It returns the runs whose certificates may still prove to be such.
func (a *auditor) verify(row certified, unsigned []string) []string {
	switch signature, err := base64.StdEncoding.DecodeString(row.signature); {
	case a.public == nil:
		return nil
	case row.signature == "" && a.audit.Certificates > 0: // the newest must be signed
		return append(unsigned, row.run)
	case err != nil || !ed25519.Verify(a.public, []byte(row.text), signature):
		a.found(FoundCertificate, "", row.run, "the certificate is not signed by the private key of this public key")
	}
	for _, run := range unsigned {
		a.found(FoundCertificate, "", run, "the certificate is not signed, and an older one is")
	}
	return nil
}

// compare holds a certificate against its run, and against the one after it.
func (a *auditor) compare(row certified, c Certificate, after *Certificate) {
	if row.run != c.Run || row.read != c.Records || row.inserted != c.Inserted || row.updated != c.Updated || row.deleted != c.Deleted {
		a.found(FoundCertificate, "", row.run, "sync_runs says that the run read %d, inserted %d, updated %d and deleted %d rows; its certificate says %d, %d, %d and %d of run %s",
			row.read, row.inserted, row.updated, row.deleted, c.Records, c.Inserted, c.Updated, c.Deleted, c.Run)
	}
	if after != nil && after.Restated == "" && after.Live != after.liveAfter(c.Live) {
		a.found(FoundCertificate, "", after.Run, "what the certificate says of the rows after the run does not follow from the one before it")
	}
	if c.Restated == RestatedDiffers {
		a.found(FoundRestated, "", c.Run, "the run found other rows than the run before it had left: something else had changed them in between")
	}
}

// leftOver looks at certificates that no later one names. A run that changed nothing may have died before its
// certificate was the last one, and old runs may have been removed because of their age.
func (a *auditor) leftOver(byHash map[string]certified, oldest *Certificate) {
	var left []string
	for _, row := range byHash {
		if row.inserted+row.updated+row.deleted > 0 && !row.started.Before(a.cut) {
			left = append(left, row.run)
		}
	}
	slices.Sort(left)
	for _, run := range left {
		a.found(FoundCertificate, "", run, "no later certificate names that of this run: it, or one after it, was altered or removed")
	}
	if oldest != nil && oldest.Previous != "" && a.cut.Unix() == 0 {
		a.found(FoundCertificate, "", oldest.Run, "the certificate before that of this run is not there")
	}
}

// look holds the rows that readers see against the last certificate, and every row and version against its hash.
func (a *auditor) look(ctx context.Context, last Certificate) error {
	var sum uint64
	err := a.retrying.QueryRow(ctx, selectLiveSum(a.stream), named("account", a.id.Account)).Scan(&a.audit.Rows, &sum)
	if err != nil {
		return err
	}
	tables := []string{latestTable(a.stream)}
	if a.stream.History {
		tables = append(tables, versionsTable(a.stream))
	}
	for _, table := range tables {
		rows, err := a.retrying.Query(ctx, selectAltered(a.stream, table, a.limit), named("account", a.id.Account))
		altered, err := scanned(rows, err, func(f *AuditFinding) []any { return []any{&f.Key, &f.Run} })
		if err != nil {
			return err
		}
		for _, f := range altered {
			a.found(FoundAltered, f.Key, f.Run, "the row in %s was altered after the run had loaded it", table)
		}
	}
	differ := (Set{a.audit.Rows, Sum(sum)}) != last.Live
	if differ {
		a.found(FoundRows, "", last.Run, "readers see %d rows, and the last certificate says %d: rows were added, removed or replaced by something else than a run",
			a.audit.Rows, last.Live.Rows)
	}
	if !a.stream.History {
		return nil
	}
	return a.blame(ctx)
}

// blame names the runs whose versions are not those that they have certified. Of deals, old versions may have been
// removed because of their age.
func (a *auditor) blame(ctx context.Context) error {
	retired := slices.Contains(dealHistories(), a.stream)
	type written struct {
		run  uuid.UUID
		rows uint64
		sum  uint64
		at   time.Time
	}
	rows, err := a.retrying.Query(ctx, selectWritten(a.stream), named("account", a.id.Account))
	runs, err := scanned(rows, err, func(x *written) []any { return []any{&x.run, &x.rows, &x.sum, &x.at} })
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, x := range runs {
		c := a.chain[x.run.String()]
		seen[x.run.String()] = true
		switch {
		case c == nil && !a.begun.IsZero() && !x.at.Before(a.begun):
			a.found(FoundRun, "", x.run.String(), "%d versions are of a run that has no certificate", x.rows)
		case a.forgotten[x.run.String()] && c != nil && x.rows == c.Inserted+c.Updated:
		case c != nil && retired && x.rows < c.Inserted+c.Updated:
		case c != nil && !c.Unlisted && (Set{x.rows, Sum(x.sum)}) != (Set{c.Inserted + c.Updated, c.Written}):
			a.found(FoundRun, "", c.Run, "the run certified %d versions, and %d are there, or other ones", c.Inserted+c.Updated, x.rows)
		}
	}
	for run, c := range a.chain {
		if !seen[run] && !c.Unlisted && !retired && c.Inserted+c.Updated > 0 {
			a.found(FoundRun, "", run, "the run certified %d versions, and none is there", c.Inserted+c.Updated)
		}
	}
	return nil
}

// selectCertificateStates selects the last certificate of each stream, and how many runs of it are being published.
var selectCertificateStates = sql(`SELECT account, stream, anyIf(value, name = $name), countIf(startsWith(name, $intent) AND value != '')
FROM sync_state_log FINAL
GROUP BY account, stream HAVING countIf(name = $name AND value != '') > 0`,
	parts{"name": quote(stateCertificate), "intent": quote(stateIntent + ":")})

// selectCertificates selects the certificates of a stream with what else its runs say. Parameters: account, stream.
const selectCertificates = `SELECT toString(run_id), certificate, signature, started_at, rows_read, inserted, updated, deleted FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND certificate != ''`

// selectRunsCut selects the time before which runs were removed because of their age, or 1970.
const selectRunsCut = "SELECT max(older_than) FROM retention_log WHERE what = 'runs' AND removed > 0"

// selectAltered selects rows that have other columns than their hash says. Marks of rows that have moved have none.
// Parameter: account.
func selectAltered(s *catalog.Stream, table string, limit int) string {
	return sql("SELECT toString($key), toString(_run_id) FROM $table WHERE account = {account:String} AND _deleted != $moved AND $hash != $content LIMIT $limit",
		parts{"key": keyNames(s), "table": table, "moved": markedMoved, "hash": contentSum("_hash"), "content": storedContentSum(s),
			"limit": fmt.Sprint(limit)})
}

// selectWritten adds up the versions of each run. Parameter: account.
func selectWritten(s *catalog.Stream) string {
	return sql("SELECT _run_id, count(), sum($sum), min(synced_at)\nFROM (SELECT DISTINCT $key, _version, _hash, _run_id, synced_at FROM $versions WHERE account = {account:String} AND _deleted = 0)\nGROUP BY _run_id",
		parts{"sum": rowSum(keyNames(s), "_hash"), "key": keyNames(s), "versions": versionsTable(s)})
}
