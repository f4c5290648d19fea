package payouts

import (
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Packet is the evidence about a payout for the service: what was paid, what it is worth now, and every version of the
// records.
type Packet struct {
	MadeAt  time.Time // by the clock of the warehouse
	Payout  Payout
	All     bool // includes all its transactions, not only the exceptions
	Records []PacketRecord
}

// PacketRecord is the payout or a transaction, with its versions, the oldest first.
type PacketRecord struct {
	Stream, ID string
	Versions   []PacketVersion
}

// PacketVersion is one version of a record.
type PacketVersion struct {
	warehouse.RecordVersion
	Number  int      // from 1
	SHA256  string   // of Content, in hexadecimal digits
	Changed []string // what differs from the version before: "status: PENDING, now DECLINED"
}

// NewPacket reads the packet of a payout. r is the reconciliation of that payout alone.
func NewPacket(ctx context.Context, w *warehouse.Warehouse, r Reconciliation, all bool) (Packet, error) {
	p := Packet{MadeAt: r.MadeAt, Payout: r.Payouts[0], All: all}
	var keys []string
	for _, e := range p.Payout.Exceptions() {
		keys = append(keys, e.ID.String())
	}
	if all {
		for _, t := range r.Transactions {
			if t.Account == p.Payout.Account {
				keys = append(keys, t.ID.String())
			}
		}
	}
	keys = unique(keys)
	for _, of := range []struct {
		stream *catalog.Stream
		keys   []string
	}{{catalog.Payouts(), []string{strconv.FormatInt(p.Payout.ID, 10)}}, {catalog.Transactions(), keys}} {
		versions, err := w.RecordVersions(ctx, of.stream, p.Payout.Account, of.keys)
		if err != nil {
			return p, err
		}
		for _, v := range versions {
			if n := len(p.Records); n == 0 || p.Records[n-1].ID != v.Key || p.Records[n-1].Stream != of.stream.Name {
				p.Records = append(p.Records, PacketRecord{Stream: of.stream.Name, ID: v.Key})
			}
			p.Records[len(p.Records)-1].add(v)
		}
	}
	return p, nil
}

// unique returns the texts without repetitions.
func unique(texts []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(texts, func(t string) bool {
		was := seen[t]
		seen[t] = true
		return was
	})
}

func (r *PacketRecord) add(v warehouse.RecordVersion) {
	v.Content = string(term.JSON([]byte(v.Content))) // what is hashed is what is shown
	sum := sha256.Sum256([]byte(v.Content))
	n := PacketVersion{RecordVersion: v, Number: len(r.Versions) + 1, SHA256: hex.EncodeToString(sum[:])}
	if len(r.Versions) > 0 {
		n.Changed = changedFields(r.Versions[len(r.Versions)-1], v)
	}
	r.Versions = append(r.Versions, n)
}

func changedFields(before PacketVersion, now warehouse.RecordVersion) []string {
	var was, is map[string]json.RawMessage
	if json.Unmarshal([]byte(before.Content), &was) != nil || json.Unmarshal([]byte(now.Content), &is) != nil {
		return nil // the packet is meant to be read as a whole
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if string(was[name]) != string(is[name]) {
			all = append(all, fmt.Sprintf("%s: %s, now %s", name, was[name], is[name]))
		}
	}
	switch {
	case now.Deleted && !before.Deleted:
		all = append(all, "the service no longer lists it")
	case before.Deleted && !now.Deleted:
		all = append(all, "the service lists it again")
	}
	return all
}

// Hash returns the SHA-256 over the hashes of all versions, in their order, in hexadecimal digits.
func (p Packet) Hash() string {
	all := sha256.New()
	for _, r := range p.Records {
		for _, v := range r.Versions {
			_, _ = io.WriteString(all, v.SHA256+"\n") // writing to a hash cannot fail
		}
	}
	return hex.EncodeToString(all.Sum(nil))
}

// WriteCSV writes the versions, one row per version. content_sha256 is the hash of the JSON in content.
func (p Packet) WriteCSV(w io.Writer) error {
	records := [][]string{strings.Fields("account payout_id record id version loaded_at updated_at gone changed content content_sha256 warehouse_hash run_id")}
	for _, r := range p.Records {
		for _, v := range r.Versions {
			records = append(records, []string{term.Cell(p.Payout.Account), strconv.FormatInt(p.Payout.ID, 10),
				strings.TrimSuffix(r.Stream, "s"), term.Cell(r.ID), fmt.Sprint(v.Number), iso(&v.LoadedAt),
				iso(v.UpdatedAt), strconv.FormatBool(v.Deleted), term.Cell(strings.Join(v.Changed, "; ")),
				term.Cell(v.Content), v.SHA256, v.Hash, v.RunID})
		}
	}
	return writeRecords(w, records)
}

//go:embed packet.html
var packetText string

// WriteHTML writes one page that needs no other files, and prints on A4.
func (p Packet) WriteHTML(w io.Writer) error {
	return writePage(w, "packet", packetText, template.FuncMap{
		"money":   func(currency string, d decimal.Decimal) string { return term.Grouped(MoneyIn(currency, d)) },
		"day":     Day,
		"time":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"kinds":   KindColumns,
		"visible": term.Text,
		"one":     func(stream string) string { return strings.TrimSuffix(stream, "s") },
	}, struct {
		Packet
		Title, Made string
	}{p, fmt.Sprintf("Payout %d of %s: what was paid, and what became of it", p.Payout.ID, p.Payout.Account),
		p.MadeAt.UTC().Format("2006-01-02 15:04 UTC")})
}
