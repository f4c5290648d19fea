// Command bench loads the same transactions from the same simulated API with dealhouse and with what people write or
// take instead, and says what each needed. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped above
	}
}

// run is the comparison, or one of the parts of it that it starts as processes of their own.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "plain":
			return plain(ctx, args[1:])
		case "file":
			return insertFile(ctx, args[1:])
		case "ask":
			return ask(ctx, args[1:])
		}
	}
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.work, "dealhouse-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // the system clears its temporary folder
	o.work = work
	return compare(ctx, o)
}

// options are the command line.
type options struct {
	rows, repeat               int
	work, output               string
	dealhouse, dealsim, python string
	machine                    string
	self                       string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("deploy/bench/run.sh", flag.ContinueOnError)
	f.IntVar(&o.rows, "rows", 100_000, "transactions to load")
	f.IntVar(&o.repeat, "repeat", 1, "how often each loads them; the fastest counts")
	f.StringVar(&o.work, "work", "", "`folder` for what is loaded (default: the system's for temporary files)")
	f.StringVar(&o.output, "output", filepath.Join("dist", "bench"), "`folder` for the table, the figures and the chart")
	f.StringVar(&o.dealhouse, "dealhouse", "dealhouse", "the `program`")
	f.StringVar(&o.dealsim, "dealsim", "dealsim", "the simulator `program`")
	f.StringVar(&o.python, "plain-py", filepath.Join("deploy", "bench", "plain.py"), "the Python `script`")
	f.StringVar(&o.machine, "machine", "", "words about the machine, for the table")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.rows < 1000 || f.NArg() > 0 {
		return o, errors.New("--rows: at least 1000, and there are no arguments beside flags")
	}
	var err error
	o.self, err = os.Executable()
	return o, err
}

// compare loads with each, in turn.
func compare(ctx context.Context, o options) error {
	w, err := startWorld(ctx, o, "all", o.rows)
	if err != nil {
		return err
	}
	defer w.stop()
	small := w
	if killRows := min(o.rows, 100_000); killRows < o.rows {
		if small, err = startWorld(ctx, o, "kill", killRows); err != nil {
			return err
		}
		defer small.stop()
	}
	t := table{Rows: o.rows, KillRows: small.rows, Bytes: w.bytes, Decimals: 2 * len(w.exact), Repeat: o.repeat,
		Machine: machine(o.machine)}
	for _, l := range loaders(o) {
		fmt.Fprintf(os.Stderr, "bench: %s\n", l.name)
		r, err := measure(ctx, o, l, w, small)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		t.Results = append(t.Results, r)
	}
	return t.write(o.output, os.Stdout)
}
