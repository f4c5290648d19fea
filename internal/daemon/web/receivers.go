package web

import (
	"context"
	"fmt"
	"net/http"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// receiverJSON is the state of the messages to a receiver of notifications.
type receiverJSON struct {
	Receiver      string  `json:"receiver"`
	Form          string  `json:"form"`
	Waiting       uint64  `json:"waiting"`
	OldestWaiting *string `json:"oldest_waiting"` // when its event was noticed
	Attempts      uint32  `json:"attempts"`       // to send the oldest one
	LastError     string  `json:"last_error"`
	LastSent      *string `json:"last_sent"`
	Sent          uint64  `json:"sent"`
	Dropped       uint64  `json:"dropped"`
}

// receiverRow is a receiver on the status page.
type receiverRow struct {
	Name, Text string
	Bad        bool
}

// receiverStates returns the receivers of the configuration, with what the warehouse knows about them, and their forms.
func (a *answers) receiverStates(ctx context.Context) (all []warehouse.ReceiverState, forms []string, err error) {
	if a.o.Receivers == nil {
		return nil, nil, nil
	}
	names, forms := a.o.Receivers()
	if len(names) == 0 {
		return nil, nil, nil
	}
	known := a.receivers.get(ctx, struct{}{})
	for _, name := range names {
		state := known.value[name]
		state.Receiver = name
		all = append(all, state)
	}
	return all, forms, known.err
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

func (a *answers) readReceivers(ctx context.Context, _ struct{}) (map[string]warehouse.ReceiverState, error) {
	return a.o.Warehouse.At("").Receivers(ctx)
}

func (s *Server) apiReceivers(w http.ResponseWriter, r *http.Request) {
	if _, err := parameters(r); err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	all, forms, err := s.answers.receiverStates(r.Context())
	if err != nil {
		s.reply.refuse(w, http.StatusServiceUnavailable, fmt.Errorf("the warehouse does not answer: %s", explain(err)))
		return
	}
	out := []receiverJSON{}
	for i, x := range all {
		out = append(out, receiverJSON{
			Receiver: x.Receiver, Form: forms[i], Waiting: x.Waiting, OldestWaiting: pointedJSON(x.Oldest), Attempts: x.Attempts,
			LastError: x.Error,
			LastSent:  pointedJSON(x.LastSent), Sent: x.Sent, Dropped: x.Dropped,
		})
	}
	s.reply.writeJSON(w, http.StatusOK, map[string][]receiverJSON{"receivers": out})
}
