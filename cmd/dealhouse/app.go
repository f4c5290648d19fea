package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/visible"
	"dealhouse/internal/warehouse"
)

// app is what every command works with: the only place where the parts of the program meet.
type app struct {
	program string // how the user called it, to be repeated in what to type next
	env     []string
	stdin   io.Reader
	stdout  io.Writer    // what is written is made visible
	flush   func() error // writes what stdout still holds back
	screen  io.Writer    // stdout as it came, for what draws on it
	console *console     // stderr
	log     *slog.Logger
	// become turns this process into another one of the program, or fails. nil when it has to stay what it is.
	become func(policy sandbox.Policy, args []string) error

	configPath  string
	logFormat   choice
	logLevel    choice
	bodies      *dealapi.Bodies // of all API clients together
	metrics     daemon.Metrics  // zero: nobody wants any
	running     bool            // the command line was understood: errors from now on are not about it
	service     bool            // nobody reads along: what is told goes to the log, in whatever format
	reconciling sync.Mutex
	limits      chdb.Limits // of the embedded engine, where others ask it; zero: none
	download    download    // of the embedded engine
	nothingLeft sync.Map    // by account: when its transactions were last found to name no deal that is to be asked for
}

// run is the program. args begins with its name, as os.Args does.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return newApp(args, stdin, stdout, stderr, env).run(ctx, args)
}

func newApp(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) *app {
	out := visible.NewWriter(stdout)
	a := &app{
		program: program(args), env: env, stdin: stdin, stdout: out, flush: out.Flush, screen: stdout, console: newConsole(stderr), bodies: dealapi.NewBodies(),
		logFormat: choice{"text", []string{"text", "json"}},
		logLevel:  choice{"info", []string{"debug", "info", "warn", "error"}},
	}
	a.log = slog.New(slog.NewTextHandler(a.console, &slog.HandlerOptions{ReplaceAttr: clipped}))
	return a
}

func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	args = args[min(1, len(args)):]
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.console)
	cmd, err := root.ExecuteContextC(ctx)
	if flushing := a.flush(); err == nil {
		err = flushing
	}
	if err != nil && !a.running {
		err = misused(cmd, args, err)
	}
	code := exitCode(ctx, err)
	a.report(ctx, err)
	return code
}

// report prints the error that ended the program, unless the command has.
func (a *app) report(ctx context.Context, err error) {
	var told reported
	if err == nil || errors.As(err, &told) {
		return
	}
	var signal stopped
	if errors.As(context.Cause(ctx), &signal) {
		if _, drained := errors.AsType[stopped](err); drained && a.service {
			a.log.Info(signal.Error()) // it is how a daemon ends
			return
		}
		a.complain("", signal) // what broke because of it is of no interest
		return
	}
	a.complain("error", err)
}

// complain prints one message that is neither a log line nor a result: for people as a sentence, for log collectors as
// a line of their format.
func (a *app) complain(kind string, err error, attrs ...any) {
	if a.logsOnly() {
		level := slog.LevelError
		if kind != "error" {
			level = slog.LevelWarn
		}
		a.log.Log(context.Background(), level, message(err), attrs...)
		return
	}
	if kind != "" {
		kind += ": "
	}
	fmt.Fprintf(a.console, "%s%s\n", kind, message(err))
}

// logsOnly reports that even what is told to people goes to the log.
func (a *app) logsOnly() bool { return a.service || a.logFormat.value == "json" }

// startLogging replaces the logger by the one that the flags ask for.
func (a *app) startLogging() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel.value)); err != nil {
		return usagef("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: clipped}
	if a.logFormat.value == "json" {
		a.log = slog.New(slog.NewJSONHandler(a.console, options))
		return nil
	}
	a.log = slog.New(slog.NewTextHandler(a.console, options))
	return nil
}

// clipped bounds what a log line repeats: the text of a statement, the answer of a service. A stack is our own.
func clipped(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == "stack" {
		return attr
	}
	switch value := attr.Value.Any().(type) {
	case string:
		attr.Value = slog.StringValue(visible.Clip(value))
	case error:
		attr.Value = slog.StringValue(visible.Clip(value.Error()))
	}
	return attr
}

// loadConfig reads the configuration and shows its warnings. knownEnv are variables that the command reads itself.
func (a *app) loadConfig(needAccounts bool, knownEnv ...string) (*config.Config, error) {
	cfg, warnings, err := config.Load(config.Source{Path: a.configPath, Env: a.env, KnownEnv: knownEnv, NeedAccounts: needAccounts})
	for _, w := range warnings {
		a.log.Warn(w.String())
	}
	return cfg, err
}

// absent says that the folder of an embedded warehouse does not exist yet.
type absent struct{ dir string }

func (e absent) Error() string {
	return fmt.Sprintf("there is no warehouse in %s yet: `dealhouse sync` or `dealhouse migrate` makes it, or warehouse.dsn names another folder", e.dir)
}

// Unwrap makes it what it is to a caller: a schema that is not there yet.
func (absent) Unwrap() error { return warehouse.ErrSchemaOld }

// exists reports a folder that is not there as absent.
func exists(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // G703: the folder is the one that the operator configured
		return absent{dir}
	}
	return nil
}

// openExisting opens the warehouse for a command that only looks at it, which must not leave an empty one behind. A
// person waits for the answer, so what fails is not tried again.
func (a *app) openExisting(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := exists(dir); err != nil {
			return nil, err
		}
	}
	return a.open(ctx, cfg, -1)
}

// openWarehouse opens the warehouse for a command that writes, making it where there is none.
func (a *app) openWarehouse(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return a.open(ctx, cfg, orNone(cfg.Warehouse.MaxRetryElapsed))
}

// open opens the warehouse and makes sure that it answers.
func (a *app) open(ctx context.Context, cfg *config.Config, maxRetryElapsed time.Duration) (*warehouse.Warehouse, error) {
	done := a.beIn("starting the embedded ClickHouse")
	w, err := warehouse.Open(ctx, warehouse.Options{
		DSN: cfg.Warehouse.DSN.Reveal(), Database: cfg.Warehouse.Database, Logger: a.log, Metrics: a.metrics.Warehouse, MaxRetryElapsed: maxRetryElapsed,
		Limits: a.limits, Downloading: a.download.reached,
	})
	done()
	if err != nil {
		return nil, err
	}
	if _, err := w.Ping(ctx); err != nil {
		return nil, errors.Join(unreachable(cfg.Warehouse.RedactedDSN(), err), w.Close())
	}
	return w, nil
}

// unreachable says what to do about a warehouse that does not answer.
func unreachable(dsn string, err error) error {
	var op *net.OpError
	var server *clickhouse.Exception
	switch {
	case warehouse.IsAuth(err):
		return refused{dsn, err}
	case errors.As(err, &op):
		return fmt.Errorf("the warehouse %s cannot be reached: check warehouse.dsn, and that the server runs: %w", dsn, op)
	case errors.As(err, &server):
		return fmt.Errorf("the warehouse %s refused to work: %w", dsn, server)
	}
	return fmt.Errorf("the warehouse %s does not answer: check warehouse.dsn (scheme, host, port, TLS): %w", dsn, err)
}

// refused says that the warehouse does not accept the credentials. What the driver wraps around that is of no use to
// whoever has to correct them.
type refused struct {
	dsn string
	err error
}

func (e refused) Error() string {
	text := "the warehouse " + e.dsn + " refused the credentials: check the user and the password in warehouse.dsn"
	if x, ok := errors.AsType[*clickhouse.Exception](e.err); ok {
		text += fmt.Sprintf(" (code %d)", x.Code)
	}
	return text
}

func (e refused) Unwrap() error { return e.err }

// silence is how long a person waits without a word.
const silence = 2 * time.Second

// beIn tells a user who waits for longer than silence what for, with the seconds on a terminal. The returned function
// ends it.
func (a *app) beIn(what string) (done func()) {
	begin, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(silence)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			took := time.Since(begin).Round(time.Second)
			if a.console.live {
				a.console.show([]string{fmt.Sprintf("%s%s ... %s", what, a.download.text(), took)})
				tick.Reset(time.Second)
				continue
			}
			a.log.Info(what+a.download.text(), "waited", took)
			tick.Reset(10 * time.Second)
		}
	}()
	return func() {
		close(end)
		<-ended
		a.console.show(nil)
	}
}

// hasEngine reports whether this binary can run the embedded engine. Nothing is opened: Open refuses an empty folder,
// or before that everything.
func hasEngine(ctx context.Context) bool {
	_, err := chdb.Open(ctx, chdb.Options{})
	return !errors.Is(err, chdb.ErrNotBuilt)
}

// program is how to call this program again.
func program(args []string) string {
	if len(args) == 0 {
		return "dealhouse"
	}
	switch {
	case strings.Contains(filepath.ToSlash(args[0]), "/go-build"):
		return "go run ./cmd/dealhouse" // where go run puts it
	case !strings.ContainsRune(args[0], filepath.Separator):
		return "dealhouse"
	}
	return args[0]
}
