package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"dealhouse/internal/catalog"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// runOffline audits the certificates.
func (c verifyCommand) runOffline(ctx context.Context, a *app) (err error) {
	for i, name := range c.selected.Streams {
		stream, err := catalog.Find(service.StreamName(name))
		if err != nil {
			return usagef("%w", err)
		}
		c.selected.Streams[i] = stream.Name
	}
	var public ed25519.PublicKey
	if c.public != "" {
		if public, err = warehouse.ReadPublicKey(c.public); err != nil {
			return usagef("--public-key: %w", err)
		}
	}
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	w, err := a.opener().Existing(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	audits, err := w.AuditCertificates(ctx, func(id warehouse.StreamID) bool {
		return among(c.selected.Accounts, id.Account) && among(c.selected.Streams, id.Stream)
	}, c.limit, public)
	if err != nil {
		return orOldSchema(err)
	}
	if len(audits) == 0 {
		return errors.New("there is no certificate of these streams yet: the next run of each leaves one")
	}
	found, err := c.printAudits(a, audits)
	if err == nil && found > 0 {
		err = fmt.Errorf("changed by something else than a run: %s; see schema/PROOF.md for what to do", term.Plural(uint64(found), "finding"))
	}
	return err
}

// among reports whether a name was chosen. If none was named, all are.
func among(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }

// printAudits prints what was found, and returns how much of it is wrong now.
func (c verifyCommand) printAudits(a *app, audits []warehouse.Audit) (found int, err error) {
	columns := []term.Column{{Name: "account"}, {Name: "stream"}, {Name: "kind"}, {Name: "key"}, {Name: "run"}, {Name: "what"}}
	rows := [][]any{}
	for _, x := range audits {
		for _, f := range x.Findings {
			rows = append(rows, []any{x.Account, x.Stream, f.Kind, f.Key, f.Run, f.What})
			if f.Kind != warehouse.FoundRestated { // what a run found was put right by that run
				found++
			}
		}
		a.log.Info("audited", "account", x.Account, "stream", x.Stream, "rows", x.Rows, "certificates", x.Certificates, "findings", len(x.Findings))
	}
	if len(rows) > 0 || c.format.value != term.Table {
		err = term.Print(c.format.value, a.stdout, columns, rows)
	}
	if found == 0 && c.format.value == term.Table {
		fmt.Fprintln(a.stdout, "Everything is as the runs certified it.")
	}
	return found, err
}
