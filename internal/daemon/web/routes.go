package web

import (
	"net/http"
	"net/http/pprof" //nolint:gosec // G108: it also registers with the default mux, which nobody serves
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.alive)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.o.Metrics)
	if s.o.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
