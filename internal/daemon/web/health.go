package web

import (
	"net/http"
	"strings"
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

// readyz answers whether the daemon can work, and if not, why.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	err := s.answers.ready.get(r.Context(), struct{}{}).err
	switch {
	case err == nil:
		s.reply.writeJSON(w, http.StatusOK, readiness{Ready: true, Reasons: []string{}})
	case !s.gate.authorized(r): // web-5
		s.reply.writeJSON(w, http.StatusServiceUnavailable,
			readiness{Reasons: []string{"the reason is shown only with user and password"}})
	default:
		s.reply.writeJSON(w, http.StatusServiceUnavailable, readiness{Reasons: reasons(err)})
	}
}

// reasons splits joined errors: each is on a line of its own.
func reasons(err error) []string { return strings.Split(err.Error(), "\n") }

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // it is no error if the viewer has left
}
