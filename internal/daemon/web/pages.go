package web

import (
	"context"
	"crypto/subtle"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// formsOf returns the forms of a stream, nil if there is no user, or nothing that could be done.
func (s *Server) formsOf(st *streamState, back string) *forms {
	if !s.gate.acts() || !st.configured || !st.Enabled {
		return nil
	}
	f := &forms{
		Token: s.gate.token(), Account: st.id.Account, Stream: st.id.Stream, Back: back, Name: st.name(),
		Running: st.Running != nil, Stopping: st.Stopping,
		Paused: st.Paused != nil && st.Paused.Stream != "", OfAccount: st.Paused != nil && st.Paused.Stream == "",
	}
	if stream, err := catalog.Find(st.id.Stream); err == nil {
		f.Full = stream.Kind != catalog.Snapshot // a snapshot reads everything in any case
	}
	if g := st.guarded; g != nil {
		f.RunID, f.Deletes = g.RunID.String(), term.Count(g.Deletes)
	}
	return f
}

// formsOfAccount returns the forms of an account.
func (s *Server) formsOfAccount(account string, streams []*streamState) *forms {
	if !s.gate.acts() {
		return nil
	}
	f := &forms{Token: s.gate.token(), Account: account, Back: "account", Name: "account " + account}
	able := false
	for _, st := range streams {
		able = able || st.configured && st.Enabled
		f.Running = f.Running || st.Running != nil
		f.Paused = f.Paused || st.Paused != nil && st.Paused.Stream == ""
	}
	if !able {
		return nil
	}
	return f
}

// pageAct carries out an action from a form of a page, and redirects to that page.
func (s *Server) pageAct(w http.ResponseWriter, r *http.Request) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		http.Error(w, "this address is for the forms of the pages; programs use "+actionsAPI,
			http.StatusUnsupportedMediaType)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	form := r.PostForm                                                                      // parameters in the address do not count
	if subtle.ConstantTimeCompare([]byte(form.Get("token")), []byte(s.gate.token())) != 1 { // web-6
		http.Error(w, "this form does not come from a page of this daemon, which may have been restarted: go back, load the page again and repeat it", http.StatusForbidden)
		return
	}
	q := actionRequest{Action: form.Get("action"), Account: form.Get("account"), Stream: form.Get("stream"),
		RunID: form.Get("run_id"), Reason: form.Get("reason"), payoutRequest: payoutRequestOf(form)}
	a, err := q.read()
	var acted Acted
	if err == nil {
		a.Via = warehouse.ViaPage
		acted, err = s.operator.act(r.Context(), q, a)
	}
	n := notice{Text: acted.Text}
	if err != nil {
		_, text := s.operator.whyNot(err)
		n = notice{Text: "Not done: " + text + ".", Bad: true}
	}
	http.Redirect(w, r, backTo(form.Get("back"), q)+"said="+s.said.add(n), http.StatusSeeOther)
}

// actionsPage serves the page that shows what operators did.
func (s *Server) actionsPage(w http.ResponseWriter, r *http.Request) {
	o := s.answers.overview(r.Context())
	body := actionsBody{Acts: s.gate.acts(), Token: s.gate.token(), Shown: defaultRuns}
	all := s.answers.actions.last(defaultRuns)
	if o.problem == nil {
		all = s.answers.actions.get(r.Context(), defaultRuns)
	}
	body.Error = explain(all.err)
	for _, a := range all.value {
		row := actionRow{At: o.moment(a.At), Exact: a.At.UTC().Format("2006-01-02 15:04:05"), Who: a.Actor, Via: a.Via,
			What: whats[a.Action], Account: a.Account, Stream: a.Stream, Reason: a.Reason}
		if a.RunID != uuid.Nil {
			row.Run, row.About = a.RunID.String(), term.Plural(a.Deletes, "row")
		}
		body.Actions = append(body.Actions, row)
	}
	p := s.reply.newPage(&o, actionsPage, "Actions", body)
	p.Said = s.said.to(r)
	s.reply.render(w, "actions.html", p)
}

// timeline serves the page of the timeline.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	o := s.answers.overview(r.Context())
	d, day, err := chosenDay(r, o.now)
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	account := r.URL.Query().Get("account")
	names, of := o.byAccount()
	if account != "" && of[account] == nil {
		http.NotFound(w, r)
		return
	}
	read := s.answers.spans.last(d)
	if o.problem == nil {
		read = s.answers.spans.get(r.Context(), d)
	}
	body := newTimeline(d, o.now, &o, read.value, account)
	body.Error = explain(read.err)
	body.link(d, day, account, o.now)
	if len(names) > 1 {
		body.Filter = filterLinks(names, of, account)
		for i := range body.Filter {
			body.Filter[i].Path = timelinePath(day, body.Filter[i].Account)
		}
	}
	s.reply.render(w, "timeline.html", s.reply.newPage(&o, timelinePage, "Timeline of "+body.Title, body))
}

// receiverRows returns the receivers as rows of the status page.
func (s *Server) receiverRows(ctx context.Context) (rows []receiverRow) {
	all, forms, err := s.answers.receiverStates(ctx)
	for i, r := range all {
		row := receiverRow{Name: r.Receiver, Text: forms[i]}
		switch {
		case forms[i] == "ping": // it has no messages
		case err != nil:
			row.Text += ", how it stands is not known"
		case r.Waiting > 0:
			row.Bad = r.Error != ""
			row.Text += ", " + term.Plural(r.Waiting, "message") + " waiting for " + term.Long(s.o.Clock().Sub(*r.Oldest))
			if row.Bad {
				row.Text += ": " + r.Error
			}
		case r.LastSent != nil:
			row.Text += ", last told " + term.Ago(s.o.Clock().Sub(*r.LastSent), term.Long)
		default:
			row.Text += ", there was nothing to tell yet"
		}
		rows = append(rows, row)
	}
	return rows
}

// statementPage serves the statement of a month.
func (s *Server) statementPage(w http.ResponseWriter, r *http.Request) {
	k, ok := s.statementOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	o := s.answers.overview(r.Context())
	known := s.answers.statements.last(k)
	if o.problem == nil { // otherwise it would only wait for the time-out once more
		known = s.answers.statements.get(r.Context(), k)
	}
	body := statementBody{Account: k.account, Month: k.month.Format("2006-01"), Title: k.month.Format("January 2006"),
		Path: k.path(), State: stateCut, Error: explain(known.err),
		Before: statementKey{k.account, k.month.AddDate(0, -1, 0)}.path(),
		After:  statementKey{k.account, k.month.AddDate(0, 1, 0)}.path()}
	if !known.at.IsZero() {
		body.fill(k, known.value)
		if token := s.gate.token(); token != "" && known.value.Close == nil && known.value.Complete() {
			body.Close = &closeForm{token, k.account, body.Month, body.Hash}
		}
	}
	p := s.reply.newPage(&o, "/statements", "Statement of "+k.account+", "+body.Title, body)
	p.Refresh, p.Said = refreshStill, s.said.to(r)
	s.reply.render(w, "statement.html", p)
}

// figurePage serves the page with the transactions behind a figure of a statement.
func (s *Server) figurePage(w http.ResponseWriter, r *http.Request) {
	k, ok := s.statementOf(r)
	f, err := figureOf(r.URL.Query())
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	o := s.answers.overview(r.Context())
	of := figureKey{k, f}
	known := s.answers.figures.last(of)
	if o.problem == nil {
		known = s.answers.figures.get(r.Context(), of)
	}
	body := figureBody{Account: k.account, Title: f.Title(), Statement: k.path(), Month: k.month.Format("January 2006"),
		Currency: f.Currency, Download: of.path("download"), Error: explain(known.err), Shown: shownTransactions}
	body.fill(known.value)
	p := s.reply.newPage(&o, "/statements/figure", capitalized(body.Title)+" of "+k.account+", "+body.Month, body)
	p.Refresh = refreshStill
	s.reply.render(w, "figure.html", p)
}

// status serves the status page.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	runs := s.answers.charts.last(struct{}{})
	o := s.answers.overview(r.Context(), func(ctx context.Context) { runs = s.answers.charts.get(ctx, struct{}{}) })
	o.chart(runs.value)
	names, of := o.byAccount()
	body := front{Chosen: r.URL.Query().Get("account"), About: s.about(&o)}
	if body.Chosen != "" && of[body.Chosen] == nil {
		http.NotFound(w, r)
		return
	}
	body.Receivers = s.receiverRows(r.Context())
	if len(names) > 1 {
		body.Filter = filterLinks(names, of, body.Chosen)
	}
	fold := body.Chosen == "" && len(o.streams) >= manyStreams
	for _, account := range names {
		if body.Chosen != "" && account != body.Chosen {
			continue
		}
		findings := badge(o.findings[account], "payout finding")
		if fold && !of[account][0].troubled() {
			body.Calm = append(body.Calm, calmRow{Account: account, Path: accountPath(account), Text: o.calm(of[account]),
				Findings: findings})
			continue
		}
		rows := o.accountRows(account, of[account], fold)
		rows.Findings, rows.Forms = findings, s.formsOfAccount(account, of[account])
		if body.Chosen == "" && len(names) > 1 {
			rows.Path = accountPath(account)
		}
		body.Accounts = append(body.Accounts, rows)
	}
	_, summary := o.verdict()
	p := s.reply.newPage(&o, "/", summary, body)
	p.Said = s.said.to(r)
	p.Target = o.target(names, of)
	s.reply.render(w, "status.html", p)
}

// about returns the daemon's version, uptime, memory and disk use.
func (s *Server) about(o *overview) about {
	a := about{Version: s.o.Version, Up: term.Long(max(0, o.local.Sub(s.began)))}
	if n := residentMemory(); n > 0 {
		a.Memory = term.Size(n)
	}
	if o.room != nil {
		a.Disk = fmt.Sprintf("%s, %s free", term.Size(o.room.Used), term.Size(o.room.Free))
	}
	return a
}

func (s *Server) payoutsPage(w http.ResponseWriter, r *http.Request) {
	o := s.answers.overview(r.Context())
	known := s.answers.payouts.last(struct{}{})
	if o.problem == nil { // otherwise it would only wait for the time-out once more
		known = s.answers.payouts.soon(r.Context(), struct{}{}, s.o.Waits.Viewer)
	}
	body := payoutsPage{Shown: shownPayouts, Error: explain(known.err)}
	if !known.at.IsZero() {
		m := o.localMoment(known.at)
		body.Compared, body.Accounts = &m, o.withPayouts(known.value.accounts)
	}
	body.State, body.Summary = o.payoutVerdict(&body)
	p := s.reply.newPage(&o, "/payouts", "Payouts", body)
	p.Said = s.said.to(r)
	if body.Compared == nil && body.Error == "" && o.problem == nil {
		p.Refresh = refreshRunning // the comparison is shown as soon as it is ready
	}
	s.reply.render(w, "payouts.html", p)
}

// stream serves the page of one stream.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	runs := s.answers.charts.last(struct{}{})
	o := s.answers.overview(r.Context(), func(ctx context.Context) { runs = s.answers.charts.get(ctx, struct{}{}) })
	o.chart(runs.value)
	id := warehouse.StreamID{Account: r.PathValue("account"), Stream: r.PathValue("stream")}
	st := o.find(id)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	body := streamPage{streamRow: o.row(st), MaxRuns: shownRuns, MaxShown: shownRejects}
	body.Forms = s.formsOf(st, "stream")
	d := s.answers.details.last(id)
	if o.problem == nil { // otherwise it would only wait for the time-out once more
		d = s.answers.details.get(r.Context(), id)
	}
	body.Error = explain(d.err)
	o.fill(&body, d.value)
	p := s.reply.newPage(&o, "/streams", body.Name+" of "+id.Account, body)
	p.Said = s.said.to(r)
	s.reply.render(w, "stream.html", p)
}

// payoutPage serves the page of one payout.
func (s *Server) payoutPage(w http.ResponseWriter, r *http.Request) {
	k, ok := payoutOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	o := s.answers.overview(r.Context())
	known := s.answers.onePayout.last(k)
	if o.problem == nil { // otherwise it would only wait for the time-out once more
		known = s.answers.onePayout.get(r.Context(), k)
	}
	body := known.value.body
	switch {
	case !known.value.there && !known.at.IsZero():
		http.NotFound(w, r)
		return
	case !known.value.there:
		body = payoutBody{Account: k.account, ID: r.PathValue("payout"), State: stateCut, Path: payoutPath(k.account, k.id)}
	}
	body.Error = explain(known.err)
	if body.Ack != nil {
		form := *body.Ack
		if form.Token = s.gate.token(); form.Token == "" {
			body.Ack = nil
		} else {
			body.Ack = &form
		}
	}
	p := s.reply.newPage(&o, "/payouts/", "Payout "+body.ID+" of "+k.account, body)
	p.Refresh, p.Said = refreshStill, s.said.to(r)
	s.reply.render(w, "payout.html", p)
}

// backTo returns the address of the page that a form was on. It is one of ours, whatever the form says.
func backTo(page string, q actionRequest) string {
	switch page {
	case "stream":
		return "/streams/" + url.PathEscape(q.Account) + "/" + url.PathEscape(q.Stream) + "?"
	case "account":
		return "/?account=" + url.QueryEscape(q.Account) + "&"
	case "actions":
		return actionsPage + "?"
	case "payout":
		return "/payouts/" + url.PathEscape(q.Account) + "/" + url.PathEscape(string(q.PayoutID)) + "?"
	case "statement":
		return "/statements/" + url.PathEscape(q.Account) + "/" + url.PathEscape(q.Month) + "?"
	}
	return "/?"
}

// actionsBody is the page that shows what operators did.
type actionsBody struct {
	Acts    bool // there is a user
	Token   string
	Error   string
	Actions []actionRow
	Shown   int
}

type actionRow struct {
	At                 moment
	Exact              string
	Who, Via, What     string
	Account, Stream    string
	About, Reason, Run string
}

// whats are the names of actions for people.
var whats = map[string]string{
	warehouse.ActionRun: "run now", warehouse.ActionRunFull: "read everything", warehouse.ActionPause: "pause",
	warehouse.ActionResume:  "resume",
	warehouse.ActionConsent: "consent", warehouse.ActionCancel: "cancel", warehouse.ActionReload: "reload",
	"consent_used":              "consent used",
	warehouse.ActionAcknowledge: "acknowledge", warehouse.ActionCloseMonth: "close month",
}
