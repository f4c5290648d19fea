package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // it registers with the default mux too, which nobody serves

	"dealhouse/internal/trust"
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

// New starts to listen, so that Addr is known, and a port in use is an error at once. Serve answers requests.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Server{o: &o, log: o.Logger, began: o.Clock(), downloads: make(chan struct{}, maxDownloads)}
	certificate, err := s.newTLSConfig()
	if err != nil {
		return nil, err
	}
	if s.reply, err = newReplies(o.Logger); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", o.Listen)
	if err != nil {
		return nil, &ListenError{o.Listen, err}
	}
	s.listener = listener
	s.gate = &gate{o: &o, loopback: trust.LocalListener(listener.Addr()), secret: newSecret(),
		crossing: http.NewCrossOriginProtection()}
	if o.Pprof && !s.gate.loopback {
		return nil, errors.Join(fmt.Errorf("profiles (pprof) are served on a loopback address only, and other machines reach %s: listen on 127.0.0.1, or turn them off", o.Listen), listener.Close())
	}
	s.answers = newAnswers(&o)
	s.operator = &operator{o: &o, log: o.Logger, answers: s.answers}
	s.server = &http.Server{
		Handler:           s.gate.guard(s.routes()),
		TLSConfig:         certificate,
		ReadHeaderTimeout: s.o.Waits.Header, ReadTimeout: s.o.Waits.Request, WriteTimeout: s.o.Waits.Answer,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // bad requests of strangers are not worth a log line
	}
	s.warn()
	return s, nil
}
