package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dealhouse/internal/payouts"
)

// download is a file that the command `dealhouse` can write too: its name, and how it is made.
type download struct {
	name   string
	format fileFormat
	write  func(context.Context, io.Writer) error
}

// formats are the formats of downloads, with their types.
var formats = map[fileFormat]string{asCSV: "text/csv; charset=utf-8", asJSON: "application/json",
	asHTML: "text/html; charset=utf-8"}

// formatOf reads the format of a download and, for CSV, its kind of rows.
func formatOf(q url.Values, lists []string) (format fileFormat, list string, err error) {
	format, list = fileFormat(q.Get("format")), q.Get("list")
	switch {
	case formats[format] == "":
		return "", "", errors.New("format: want csv, json or html")
	case list != "" && (format != asCSV || !slices.Contains(lists, list)):
		return "", "", fmt.Errorf("list: with format=csv, want %s", strings.Join(lists, ", "))
	case list == "":
		list = lists[0]
	}
	return format, list, nil
}

// give sends a file while it is being made: see attachment.
func (s *Server) give(w http.ResponseWriter, r *http.Request, d download) {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Waits.Answer)
	defer cancel()
	file := newAttachment(w, r, func(h http.Header) {
		h.Set("Content-Type", formats[d.format])
		h.Set("Content-Disposition", `attachment; filename="`+fileName(d.name)+"."+string(d.format)+`"`)
	})
	err := s.toDownload(ctx, func() error { return d.write(ctx, file) })
	if err == nil {
		err = file.send()
	}
	switch {
	case err != nil && file.begun: // including a viewer who has left, or who reads too slowly
		s.log.Info("a download was cut off", "file", d.name, "error", explain(err))
		panic(http.ErrAbortHandler)
	case err != nil:
		missing, gone := errors.AsType[*RefusalError](err)
		if gone {
			s.reply.refuse(w, http.StatusNotFound, missing)
			return
		}
		s.reply.refuse(w, http.StatusServiceUnavailable, fmt.Errorf("the warehouse does not answer: %s", explain(err)))
	}
}

// fileName replaces the characters of a name that some file systems do not allow.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, name)
}

// writeReconciliation writes a reconciliation in a format.
func writeReconciliation(r payouts.Reconciliation, format fileFormat, list string, to io.Writer) error {
	switch format {
	case asJSON:
		return r.WriteJSON(to)
	case asHTML:
		return r.WriteHTML(to)
	}
	return r.WriteCSV(to, list)
}

// downloadPayouts sends the reconciliation of an account, or of all.
func (s *Server) downloadPayouts(w http.ResponseWriter, r *http.Request) {
	q, err := parameters(r, "account", "format", "list")
	var format fileFormat
	var list string
	if err == nil {
		lists := slices.DeleteFunc(payouts.Lists(), func(list string) bool { return list == payouts.ListTransactions() })
		format, list, err = formatOf(q, lists)
	}
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	account := q.Get("account")
	if account != "" && !s.answers.knowsAccount(r.Context(), account) {
		s.reply.refuse(w, http.StatusNotFound, errors.New("there is no such account"))
		return
	}
	f := s.answers.rules()
	f.Account = account
	s.give(w, r, download{strings.Trim("payouts-"+account, "-"), format, func(ctx context.Context, to io.Writer) error {
		all, err := payouts.Reconcile(ctx, s.o.Warehouse, f)
		if err != nil {
			return err
		}
		return writeReconciliation(all, format, list, to)
	}})
}

// downloadPayout sends the reconciliation of one payout.
func (s *Server) downloadPayout(w http.ResponseWriter, r *http.Request) {
	k, ok := payoutOf(r)
	if !ok {
		s.reply.refuse(w, http.StatusNotFound, errors.New("there is no such payout"))
		return
	}
	q, err := parameters(r, "format", "list")
	var format fileFormat
	var list string
	if err == nil {
		format, list, err = formatOf(q, append([]string{payouts.ListTransactions(), payouts.ListExceptions, payouts.ListTotals,
			payouts.ListPayouts()}, payouts.ThreeWayLists()...))
	}
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	f := s.answers.rules()
	f.Account, f.Payout, f.WithoutTransactions = k.account, &k.id, format == asCSV
	s.give(w, r, download{fmt.Sprintf("payout-%s-%d", k.account, k.id), format,
		func(ctx context.Context, to io.Writer) error {
			one, err := payouts.Reconcile(ctx, s.o.Warehouse, f)
			if err != nil {
				return err
			}
			if len(one.Payouts) == 0 {
				return &RefusalError{Unknown: true, Reason: "there is no such payout"}
			}
			switch {
			case slices.Contains(payouts.ThreeWayLists(), list):
				t, err := payouts.PayoutThreeWay(ctx, s.o.Warehouse, k.account, k.id)
				return orWrite(err, t, list, to)
			case format == asCSV && list == payouts.ListTransactions():
				return one.WriteTransactionsCSV(ctx, s.o.Warehouse, to)
			}
			return writeReconciliation(one, format, list, to)
		}})
}

// Kinds of rows of a statement, in addition to the statement itself and the balances.
const (
	listAges     = "ages"     // what is unpaid, by age
	listChanges  = "changes"  // the changes of transactions behind the entries
	listForecast = "forecast" // of the next payouts
	listDue      = "due"      // the unpaid transactions behind the forecast
	listBacktest = "backtest" // earlier payouts: their forecast by this method, and what was paid
	listRates    = "rates"    // the sales of the month, with what was promised for them
)

// downloadStatement sends the statement of a month, or the transactions behind a figure of it.
func (s *Server) downloadStatement(w http.ResponseWriter, r *http.Request) {
	k, ok := s.statementOf(r)
	if !ok {
		s.reply.refuse(w, http.StatusNotFound, errors.New("there is no such statement"))
		return
	}
	q, err := parameters(r, "format", "list", "of", "currency", "age")
	var format fileFormat
	var list string
	if err == nil {
		format, list, err = formatOf(q, append([]string{"statement", listAges, listChanges, payouts.Opening, payouts.Closing,
			listForecast, listDue, listBacktest, listRates}, payouts.ThreeWayLists()...))
	}
	f := payouts.Figure{Of: list}
	if err == nil && (q.Has("of") || q.Has("age") || q.Has("currency")) {
		if f, err = figureOf(q); err == nil && (format != asCSV || q.Has("list")) {
			err = errors.New("of: what is behind a figure is there with format=csv, without list")
		}
	}
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	s.give(w, r, download{"statement-" + k.account + "-" + k.month.Format("2006-01"), format,
		func(ctx context.Context, to io.Writer) error {
			switch {
			case f.Known():
				return payouts.WriteBehindCSV(ctx, s.o.Warehouse, k.account, k.month, f, to)
			case list == listChanges:
				return payouts.WriteChangesCSV(ctx, s.o.Warehouse, k.account, k.month, to)
			case list == listRates:
				return payouts.WriteRatesCSV(ctx, s.o.Warehouse, k.account, k.month, to)
			case list == listDue:
				return payouts.WriteDueCSV(ctx, s.o.Warehouse, k.account, k.month, to)
			case slices.Contains(payouts.ThreeWayLists(), list):
				t, err := payouts.MonthThreeWay(ctx, s.o.Warehouse, k.account, k.month)
				return orWrite(err, t, list, to)
			}
			statement, err := payouts.NewStatement(ctx, s.o.Warehouse, k.account, k.month)
			if err != nil {
				return err
			}
			switch {
			case format == asJSON:
				return statement.WriteJSON(to)
			case format == asHTML:
				return statement.WriteHTML(to)
			case list == listAges:
				return statement.WriteAgesCSV(to)
			case list == listForecast:
				return statement.WriteForecastCSV(to)
			case list == listBacktest:
				return statement.WriteBacktestCSV(to)
			}
			return statement.WriteCSV(to)
		}})
}

const (
	// heldBack is how many bytes of a download are buffered before the first one is sent: until then, an
	// error can still be reported.
	heldBack = 64 << 10
	// maxDownloads is how many downloads are made side by side. A viewer with a slow connection
	// does not block any page.
	maxDownloads = 2
)

// attachment is a download under way. It is sent while it is made, and not kept in memory. An error before
// the first bytes are sent is reported in the answer. An error after that cuts the answer off, so that
// nobody takes it for complete.
type attachment struct {
	to     http.ResponseWriter
	header func(http.Header)
	most   int // bytes that are held back at most
	held   []byte
	begun  bool // the first bytes are sent
}

// newAttachment makes the attachment of a request. An answer by HTTP/1.0, which some proxies use, ends with its
// connection, so it looks complete wherever it is cut off. Such an answer is sent only when it is complete.
func newAttachment(to http.ResponseWriter, r *http.Request, header func(http.Header)) *attachment {
	a := &attachment{to: to, header: header, most: heldBack}
	if !r.ProtoAtLeast(1, 1) {
		a.most = math.MaxInt
	}
	return a
}

// Write implements io.Writer.
func (a *attachment) Write(p []byte) (int, error) {
	if len(a.held)+len(p) > a.most {
		if err := a.send(); err != nil {
			return 0, err
		}
	}
	if len(p) > a.most {
		return a.to.Write(p)
	}
	a.held = append(a.held, p...)
	return len(p), nil
}

// send sends what is held back.
func (a *attachment) send() error {
	if !a.begun {
		a.header(a.to.Header())
		a.begun = true
	}
	_, err := a.to.Write(a.held)
	a.held = a.held[:0]
	return err
}

// toDownload runs a function as soon as fewer than maxDownloads downloads are under way.
func (s *Server) toDownload(ctx context.Context, do func() error) error {
	select {
	case s.downloads <- struct{}{}:
		defer func() { <-s.downloads }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// statementOf reads which month an address is about.
func (s *Server) statementOf(r *http.Request) (statementKey, bool) {
	month, err := payouts.ParseMonth(r.PathValue("month"))
	k := statementKey{r.PathValue("account"), month}
	return k, err == nil && s.answers.knowsAccount(r.Context(), k.account)
}
