package web

import (
	"net/http"
	"net/http/pprof" // it registers with the default mux too, which nobody serves
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.alive)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.o.Metrics)
	mux.HandleFunc("GET /api/v1/status", s.apiStatus)
	mux.HandleFunc("GET /api/v1/runs", s.apiRuns)
	mux.HandleFunc("GET /api/v1/receivers", s.apiReceivers)
	mux.HandleFunc("GET "+actionsAPI, s.apiActions)
	mux.HandleFunc("POST "+actionsAPI, s.apiAct)
	mux.HandleFunc("GET "+actionsPage, s.actionsPage)
	mux.HandleFunc("POST "+actionsPage, s.pageAct)
	mux.HandleFunc("GET /{$}", s.status)
	mux.HandleFunc("GET /streams/{account}/{stream}", s.stream)
	mux.HandleFunc("GET "+timelinePage, s.timeline)
	mux.HandleFunc("GET /payouts", s.payoutsPage)
	mux.HandleFunc("GET /payouts/download", s.downloadPayouts)
	mux.HandleFunc("GET /payouts/{account}/{payout}", s.payoutPage)
	mux.HandleFunc("GET /payouts/{account}/{payout}/download", s.downloadPayout)
	mux.HandleFunc("GET /statements/{account}/{month}", s.statementPage)
	mux.HandleFunc("GET /statements/{account}/{month}/figure", s.figurePage)
	mux.HandleFunc("GET /statements/{account}/{month}/download", s.downloadStatement)
	mux.HandleFunc("GET /static/", s.reply.static)
	if s.o.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
