package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/daemon"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/probe"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
)

// app is what every command is given: the only place where the parts of the program meet. Commands keep what is theirs.
type app struct {
	program string // how the user called the program; repeated in advice on what to type next
	env     []string
	stdin   io.Reader
	stdout  io.Writer     // makes control characters in the output visible
	flush   func() error  // writes what stdout has buffered
	screen  io.Writer     // stdout without that filter, for progress bars
	console *term.Console // stderr
	log     *slog.Logger
	// become replaces this process by another one of this program, or fails. It is nil if the process may not be
	// replaced.
	become func(policy sandbox.Policy, args []string) error

	alone       bool   // the process is the program's own, and so is what it has once: the standard logger and stderr
	release     func() // gives stderr back to others
	apart       bool   // an embedded engine is to be in a process of its own
	sandboxless bool   // that process is to have no sandbox
	configPath  string
	wide        bool // tables need not fit the terminal
	logFormat   choice[string]
	logLevel    choice[string]
	metrics     daemon.Metrics // zero: nobody wants any
	running     bool           // the command line was understood: later errors are not usage errors
	unattended  bool           // nobody watches: messages go to the log, in its format
	download    download       // of the embedded engine
	door        *door          // what the process with the engine is to serve to readers; nil: nothing
	fewRows     bool           // statements over few rows are cheap in the embedded engine: for tests (chdb.Options)
	waits       waits
}

// waits are how long the program waits for others.
type waits struct {
	folder    time.Duration // how long a command that writes waits for another process to close the embedded warehouse
	exports   time.Duration // how long the end of a command waits for receivers of traces, metrics and lineage
	notifying time.Duration // how long the end of a sync waits for receivers of notifications (service.Options)
	pages     web.Waits     // the pages of the daemon; zero: as usual
	asking    float64       // requests a second of a probe
}

// standardWaits are the waits outside tests.
func standardWaits() waits {
	return waits{folder: time.Minute, exports: 2 * time.Second, notifying: service.DefaultNotifyTimeout,
		asking: probe.DefaultPerSecond}
}

func newApp(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) *app {
	out := term.NewWriter(stdout)
	a := &app{
		program: program(args), env: env, stdin: stdin, stdout: out, flush: out.Flush, screen: stdout,
		console:   term.NewConsole(stderr),
		logFormat: choice[string]{"text", []string{"text", "json"}},
		logLevel:  choice[string]{"info", []string{"debug", "info", "warn", "error"}},
		waits:     standardWaits(), release: func() {},
	}
	a.log = slog.New(slog.NewTextHandler(a.console, &slog.HandlerOptions{ReplaceAttr: term.ClipAttr}))
	return a
}

// run runs the program. args begins with its name, as os.Args does.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	args = args[min(1, len(args)):]
	root.SetArgs(args)
	root.SetIn(a.stdin)
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

// fitTables makes tables as narrow as the terminal that they are printed on. What goes into a pipe or a file stays
// whole.
func (a *app) fitTables() {
	if !a.wide && term.IsTerminal(a.screen) {
		a.stdout = term.Screen{Writer: a.stdout, Width: term.WidthOf(a.screen)}
	}
}

// startLogging replaces the logger by the one that the flags ask for.
func (a *app) startLogging() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel.value)); err != nil {
		return usagef("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: term.ClipAttr}
	a.log = slog.New(slog.NewTextHandler(a.console, options))
	if a.logFormat.value == "json" {
		a.log = slog.New(slog.NewJSONHandler(a.console, options))
	}
	if !a.alone {
		return nil
	}
	takeStandardLog(a.log)
	release, err := a.takeStderr()
	a.release = release
	return err
}

// readConfig reads the configuration and shows its warnings. knownEnv names the variables that the command itself
// reads.
func (a *app) readConfig(needAccounts bool, knownEnv ...string) (*config.Config, error) {
	return a.readConfigAs(config.Source{KnownEnv: knownEnv, NeedAccounts: needAccounts})
}

// readOnly reads what is needed to see how things stand, also if something else in the configuration is wrong: a daemon
// that has refused the same file works on.
func (a *app) readOnly(table string) (*config.Config, error) {
	cfg, err := a.readConfigAs(config.Source{Only: []string{table}})
	if err == nil && cfg.Partial {
		a.log.Warn("the configuration cannot be read, and only its ["+table+"] counts here: a daemon keeps what it has, and would not start again with this",
			"config", cfg.File)
	}
	return cfg, err
}

// readConfigAs reads the configuration that the command line names, with the other options of the source.
func (a *app) readConfigAs(source config.Source) (*config.Config, error) {
	source.Path, source.Env = a.configPath, a.env
	cfg, warnings, err := config.Read(source)
	a.warn(warnings)
	return cfg, err
}

// warn prints the warnings of a configuration.
func (a *app) warn(warnings []config.Warning) {
	for _, w := range warnings {
		a.log.Warn(w.String())
	}
}

// measure makes a registry with all metrics of the program. What the command creates afterwards is counted there.
func (a *app) measure() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	b := readBuild()
	build := daemon.Build{Version: b.version, Revision: b.revision, GoVersion: runtime.Version()}
	if chdb.Built {
		build.Engine = chdb.Version
	}
	a.metrics = *daemon.NewMetrics(registry, build, nil)
	return registry
}

// newService makes the service of a command. The logger and the metrics must exist by then.
func (a *app) newService() *service.Service { return service.New(a.serviceOptions()) }

func (a *app) serviceOptions() service.Options {
	return service.Options{
		Logger: a.log, Metrics: &a.metrics, UserAgent: "dealhouse/" + readBuild().version, Warn: a.printWarning,
		ShowWaiting: a.showWaiting, NotifyTimeout: a.waits.notifying,
	}
}

// showWaiting tells a user who waits for more than a few seconds what the program waits for. The returned function ends
// the message.
func (a *app) showWaiting(what string) (done func()) {
	return a.showWaitingFor(func() string { return what })
}

// showWaitingFor is showWaiting for a text that changes while the user waits.
func (a *app) showWaitingFor(what func() string) (done func()) {
	return term.ShowWaiting(a.console, a.log, func() string { return what() + a.download.text() })
}

// program is the command that calls this program again.
func program(args []string) string {
	if len(args) == 0 {
		return "dealhouse"
	}
	switch {
	case strings.Contains(filepath.ToSlash(args[0]), "/go-build"):
		return "go run ./cmd/dealhouse" // go run builds the program in such a folder
	case !strings.ContainsRune(args[0], filepath.Separator):
		return "dealhouse"
	}
	return args[0]
}
