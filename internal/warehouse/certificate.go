package warehouse

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"dealhouse/internal/catalog"
)

// Certificate is what a run proves of itself before its state moves (warehouse-23). Sums are order-free: of a set of
// rows, the sum of a hash of each row's key and content, modulo 2^64 (rowSum).
type Certificate struct {
	Account string `json:"account"`
	Stream  string `json:"stream"`
	Run     string `json:"run_id"`
	Number  uint64 `json:"number"` // of the certificates of the stream, from 1
	// Previous is the hashOfCertificate of the certificate before it of the stream; "" of the first.
	Previous string `json:"previous,omitempty"`
	// Restated says that the certificate does not follow from the one before it, and why: Live was computed from the
	// rows themselves.
	Restated string `json:"restated,omitempty"`
	// Content names the columns that the sums are made of. They are other ones after a migration.
	Content string `json:"content"`

	Pages     uint64 `json:"pages"`
	Records   uint64 `json:"records"`            // in those pages
	LeftOut   uint64 `json:"left_out"`           // of them, those outside of what is to be loaded
	Rejected  uint64 `json:"rejected"`           // of them, those that cannot be loaded
	Staged    Set    `json:"staged"`             // of them, all others: as they were decoded, and as the warehouse has them
	Keys      uint64 `json:"keys"`               // that are different, of those
	Unchanged uint64 `json:"unchanged"`          // of them, those that were equal to what was loaded
	Older     uint64 `json:"older"`              // of them, those that are dated before what was loaded
	Inserted  uint64 `json:"inserted"`           // of them
	Updated   uint64 `json:"updated"`            // of them
	Deleted   uint64 `json:"deleted"`            // rows that were no longer there
	Unlisted  bool   `json:"unlisted,omitempty"` // the rows were read by their own addresses, and readers see none of them
	Written   Sum    `json:"written"`            // of the rows inserted and updated
	Removed   Sum    `json:"removed"`            // of the rows updated and deleted, as they were
	Live      Set    `json:"live_after"`         // of all rows that readers see after the run
	// Forgotten are earlier runs from whose versions the run has removed what names a person: what they have certified
	// of them does not hold any more.
	Forgotten []string `json:"forgotten,omitempty"`
}

// Sum is an order-free hash of rows, as hexadecimal digits in JSON.
type Sum uint64

// MarshalText returns 16 hexadecimal digits: many programs read a number in JSON as a float.
func (s Sum) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(s)), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Sum) UnmarshalText(text []byte) error {
	var bytes [8]byte
	if n, err := hex.Decode(bytes[:], text); err != nil || n != len(bytes) {
		return fmt.Errorf("%q is no sum of 16 hexadecimal digits: %w", text, err)
	}
	*s = 0
	for _, b := range bytes {
		*s = *s<<8 | Sum(b)
	}
	return nil
}

// Set is how many rows there are in a set of them, and their sum.
type Set struct {
	Rows uint64 `json:"rows"`
	Sum  Sum    `json:"sum"`
}

// And is the set with other rows.
func (s Set) And(o Set) Set { return Set{s.Rows + o.Rows, s.Sum + o.Sum} }

// Without is the set without some of its rows.
func (s Set) Without(o Set) Set { return Set{s.Rows - o.Rows, s.Sum - o.Sum} }

// hashOfCertificate is by what the next certificate names one: of its text as it was stored, whatever a later version
// would write.
func hashOfCertificate(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Why a certificate does not follow from the one before it.
const (
	RestatedBegun     = "begun"     // there is none before it, but there were rows
	RestatedColumns   = "columns"   // the columns of the stream have changed since
	RestatedDiffers   = "differs"   // the rows are not those of the one before it: something else has changed them
	RestatedForgotten = "forgotten" // values that name a person were removed from them
)

// certify adds the certificate of a run to its intent.
func (w *Writer) certify(ctx context.Context, l *Lease, in *Intent) error {
	r, c := &in.Record, in.Record.Changes
	next := Certificate{
		Account: w.Account, Stream: w.Stream.Name, Run: w.ID.String(), Content: ContentName(w.Stream), Number: 1,
		Pages: r.Totals.Pages, Records: r.Totals.Read, LeftOut: r.Totals.LeftOut, Rejected: r.Totals.Unloadable,
		Staged: r.Totals.Set(), Keys: c.Distinct, Unchanged: c.Unchanged, Older: c.Older,
		Inserted: c.Inserted, Updated: c.Updated, Deleted: c.Deleted, Unlisted: c.Unlisted, Written: r.Written.Added, Removed: r.Written.Removed,
	}
	if err := next.check(); err != nil {
		return err
	}
	text := cmp.Or(l.certificate, l.state(stateCertificate))
	last, err := parseState[Certificate](l.account, l.stream, stateCertificate, text)
	if err != nil {
		return err
	}
	if last != nil {
		next.Live, next.Number, next.Previous = last.Live, last.Number+1, hashOfCertificate(text)
	}
	look := ReadsWhole(r.Mode) && c.Any() || r.Forgotten != nil
	if err := w.restate(ctx, last, &next, look, r.Forgotten); err != nil {
		return err
	}
	next.Live = next.liveAfter(next.Live)
	written, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("writing the certificate of run %s: %w", w.ID, err)
	}
	if key := w.pool.signing; key != nil {
		r.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, written))
	}
	r.Certificate, in.Certified = string(written), next.Number
	return nil
}

// liveAfter is what readers see after the run, if they saw the given rows before it.
func (c *Certificate) liveAfter(before Set) Set {
	if c.Unlisted {
		return before
	}
	return before.And(Set{c.Inserted, c.Written}).Without(Set{c.Deleted, c.Removed})
}

// check compares the counts of a run with each other. Each was made at another place.
func (c *Certificate) check() error {
	switch {
	case c.Records != c.Staged.Rows+c.Rejected+c.LeftOut:
		return &CertificateError{c.Run, fmt.Sprintf("%d records were read, but %d were decoded, %d rejected and %d left out",
			c.Records, c.Staged.Rows, c.Rejected, c.LeftOut)}
	case c.Keys != c.Inserted+c.Updated+c.Unchanged+c.Older:
		return &CertificateError{c.Run, fmt.Sprintf("%d keys were staged, but %d were inserted, %d updated, %d unchanged and %d older",
			c.Keys, c.Inserted, c.Updated, c.Unchanged, c.Older)}
	}
	return nil
}

// restate computes what readers see before the run from the rows themselves, if no certificate says it, or if all of
// the stream was read and changed: then it costs little, and shows what was changed by something else than a run. The
// run may have removed what is forgotten; nil: it has not.
func (w *Writer) restate(ctx context.Context, last, next *Certificate, look bool, forgotten *Forgotten) error {
	begun := last == nil
	moved := !begun && last.Content != next.Content
	if !begun && !moved && !look {
		return nil
	}
	if forgotten != nil {
		next.Forgotten = forgotten.Runs
	}
	live, err := w.LiveSum(ctx)
	switch {
	case err != nil:
		return err
	case moved:
		next.Restated = RestatedColumns
	case begun && live.Rows > 0:
		next.Restated = RestatedBegun
	case forgotten != nil && !forgotten.Differs:
		next.Restated = RestatedForgotten
	case !begun && live != last.Live:
		next.Restated = RestatedDiffers
		w.pool.log.Warn("rows were changed by something else than a run: `dealhouse verify --offline` names them until they are replaced",
			"account", w.Account, "stream", w.Stream.Name, "rows", live.Rows, "rows_certified", last.Live.Rows)
	}
	next.Live = live
	return nil
}

// LiveSum computes the number of rows that readers see, and their sum.
func (w *Writer) LiveSum(ctx context.Context) (live Set, err error) {
	var sum uint64
	err = w.pool.conn.QueryRow(ctx, selectLiveSum(w.Stream), named("account", w.Account)).Scan(&live.Rows, &sum)
	if err != nil {
		return live, fmt.Errorf("adding up the rows of %s of account %s: %w", w.Stream.Name, w.Account, err)
	}
	live.Sum = Sum(sum)
	return live, nil
}

// CertificateError says that what a run counted at one place is not what it counted at another: a row was lost or
// altered in between. Nothing was published, and the next run reads everything again.
type CertificateError struct{ Run, Reason string }

func (e *CertificateError) Error() string {
	return "run " + e.Run + " cannot be certified: " + e.Reason + ". Nothing was published, and the next run reads everything again; report it if it comes again"
}

// readSigningKey reads an Ed25519 private key in PEM.
func readSigningKey(file string) (ed25519.PrivateKey, error) {
	key, err := readPEM(file, x509.ParsePKCS8PrivateKey)
	private, is := key.(ed25519.PrivateKey)
	if err == nil && !is {
		err = errors.New("it has no Ed25519 key: openssl genpkey -algorithm ed25519 makes one")
	}
	if err != nil {
		return nil, fmt.Errorf("reading signing_key_file %s: %w", file, err)
	}
	return private, nil
}

// ReadPublicKey reads an Ed25519 public key in PEM, as openssl pkey -pubout writes it.
func ReadPublicKey(file string) (ed25519.PublicKey, error) {
	key, err := readPEM(file, x509.ParsePKIXPublicKey)
	public, is := key.(ed25519.PublicKey)
	if err == nil && !is {
		err = errors.New("it has no Ed25519 public key")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the public key %s: %w", file, err)
	}
	return public, nil
}

func readPEM(file string, parse func([]byte) (any, error)) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no PEM file")
	}
	return parse(block.Bytes)
}

// rowSum is the hash of a row's key and content. key and hash are columns: its key, and its _hash.
func rowSum(key, hash string) string {
	return "cityHash64(" + key + ", " + contentSum(hash) + ")"
}

// contentSum is the half of a _hash that is cityHash64 of the content (hashOf).
func contentSum(hash string) string { return "reinterpretAsUInt64(substring(" + hash + ", 9, 8))" }

// stagedSum is decode.Batch.Sums of a staged row.
func stagedSum(s *catalog.Stream) string {
	sum := "cityHash64(" + keyNames(s) + ", " + contentSum("_hash")
	if s.Child != nil {
		sum += ", _entries"
	}
	return sum + ")"
}

// selectLiveSum counts the rows that readers see, and adds them up. Parameter: account.
func selectLiveSum(s *catalog.Stream) string {
	return sql("SELECT count(), sum($sum) FROM $latest FINAL WHERE account = {account:String} AND _deleted = 0",
		parts{"sum": rowSum(keyNames(s), "_hash"), "latest": latestTable(s)})
}
