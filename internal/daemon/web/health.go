package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"dealhouse/internal/visible"
)

// alive answers as long as the process serves at all.
func (s *Server) alive(w http.ResponseWriter, _ *http.Request) {
	writeText(w, "alive\n")
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"`
}

// readyz says whether the daemon can work, and why not.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	err := s.ready.get(r.Context(), struct{}{}).err
	switch {
	case err == nil:
		s.writeJSON(w, http.StatusOK, readiness{Ready: true, Reasons: []string{}})
	case !s.authorized(r): // web-5
		s.writeJSON(w, http.StatusServiceUnavailable,
			readiness{Reasons: []string{"the reason is shown only with user and password"}})
	default:
		s.writeJSON(w, http.StatusServiceUnavailable, readiness{Reasons: reasons(err)})
	}
}

// reasons takes joined errors apart: each stands on a line of its own.
func reasons(err error) []string { return strings.Split(err.Error(), "\n") }

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // a viewer who has left is no error
}

func (s *Server) writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(visible.JSON(text), '\n')) // a viewer who has left is no error
}

// fail answers what should not happen; the reason is for the log.
func (s *Server) fail(w http.ResponseWriter, err error) {
	s.log.Error("could not render a page", "error", err)
	http.Error(w, "internal error: the log has the reason", http.StatusInternalServerError)
}
