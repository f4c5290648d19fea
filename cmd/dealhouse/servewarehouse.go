package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"dealhouse/internal/chdb"
	"dealhouse/internal/launch"
	"dealhouse/internal/service"
	"dealhouse/internal/trust"
	"dealhouse/internal/warehouse"
)

const serveLong = `Serves the embedded warehouse over ClickHouse's HTTP interface, for curl, BI tools and other dealhouse
processes. By default it is read-only and only for this machine.

Only one process at a time can open an embedded warehouse. While this one runs, other commands reach the
warehouse through it, with warehouse.dsn = "http://127.0.0.1:8123/dealhouse". A sync needs --allow-writes
here. Even then, statements that reach files or the network are refused. A large sync may also need higher
limits than those below.

On Linux 6.7 or later the process runs in a sandbox of the kernel: it can read and write the folder of the
warehouse, and reach nothing else. On a kernel without this sandbox, other machines are served only with
--without-sandbox. The folder must have no symbolic links that lead out of it.

A ClickHouse server (clickhouse://...) needs none of this: query it directly.`

const serveExample = `  dealhouse serve-warehouse
  curl 'http://127.0.0.1:8123/?database=dealhouse' -d 'SELECT count() FROM transactions'
  dealhouse serve-warehouse --listen 0.0.0.0:8123 --user bi --password file:/run/secrets/bi
  DEALHOUSE_WAREHOUSE_DSN=http://127.0.0.1:8123/dealhouse dealhouse query "SELECT 1"`

// serveCommand is what its flags say.
type serveCommand struct {
	listen         string
	allowWrites    bool
	user, password string
	insecure       bool
	withoutSandbox bool
	limits         *limits
}

func newServeWarehouse(a *app) *cobra.Command {
	var c serveCommand
	cmd := &cobra.Command{
		Use:     "serve-warehouse",
		Short:   "Serve the embedded warehouse over HTTP for curl and BI tools",
		Long:    serveLong,
		Example: serveExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8123", "host:port to listen on; port 0 chooses one")
	flags.BoolVar(&c.allowWrites, "allow-writes", false, "let clients change data")
	flags.StringVar(&c.user, "user", "", "`name` that clients must give (default \"default\" when there is a password)")
	flags.StringVar(&c.password, "password", "", "password that clients must give: env:`NAME` or file:PATH")
	flags.BoolVar(&c.insecure, "insecure", false, "allow other machines in without a password")
	flags.BoolVar(&c.withoutSandbox, "without-sandbox", false, withoutSandboxHelp)
	c.limits = limitFlags(cmd, true)
	return cmd
}

func (c serveCommand) run(ctx context.Context, a *app) error {
	password, variable, err := secret(a, "--password", c.password)
	if err != nil {
		return err
	}
	if err := c.validate(password); err != nil {
		return err
	}
	if err := c.limits.validate(); err != nil {
		return err
	}
	cfg, err := a.readConfig(false, variable)
	if err != nil {
		return err
	}
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		return usagef("the warehouse is a server, %s: ask it directly; serve-warehouse is for embedded:<folder>",
			cfg.Warehouse.RedactedDSN())
	}
	if err := service.MustExist(dir); err != nil && !c.allowWrites { // a user who may write may also create it
		return err
	}
	if err := service.MustBeFree(ctx, dir); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(c.listen) // validated
	job, err := a.launcher().NewJob(ctx, launch.JobOptions{Dir: dir, WithoutSandbox: c.withoutSandbox,
		Strangers: !trust.LocalHost(host)})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return usagef("%w: choose another address with --listen", err)
	}
	defer func() { _ = listener.Close() }() // the server has, if there was one
	serve := &serveTask{Database: cfg.Warehouse.Database, AllowWrites: c.allowWrites, User: c.user, Password: password, AnyHost: c.insecure, Greet: true,
		Queries: c.limits.queries, Buffered: c.limits.buffered << 20}
	t := task{Database: cfg.Warehouse.Database, Limits: c.limits.engine(), Serve: serve}
	job.Front = true
	return t.launch(ctx, a, job, listener)
}

// serveTask is how the warehouse is served over HTTP.
type serveTask struct {
	Database       string // of requests that name none
	AllowWrites    bool
	User, Password string
	AnyHost        bool // it may be addressed by any name
	Greet          bool // it tells where it is
	Queries        int  // at once
	Buffered       int64
}

func (s serveTask) run(ctx context.Context, a *app, w *warehouse.Warehouse, listener net.Listener, behind bool) error {
	if s.Greet && !behind {
		s.greet(a.stdout, listener.Addr(), w.Database())
	}
	options := s.options(a)
	options.Behind = behind
	return w.Engine().Serve(ctx, listener, options)
}

// options say which requests are served.
func (s serveTask) options(a *app) chdb.HandlerOptions {
	options := chdb.HandlerOptions{Database: s.Database, AllowWrites: s.AllowWrites, User: s.User, Password: s.Password, Logger: a.log,
		MaxBufferedBytes: s.Buffered, MaxQueryBytes: maxQuery, MaxQueries: s.Queries}
	if s.AnyHost {
		options.AllowedHosts = []string{"*"}
	}
	return options
}

// validate refuses flags that would let strangers in by accident.
func (c serveCommand) validate(password string) error {
	host, _, err := net.SplitHostPort(c.listen)
	switch {
	case err != nil:
		return usagef("--listen: want host:port, such as 127.0.0.1:8123")
	case c.user != "" && password == "":
		return usagef("--user needs --password")
	case password == "" && !c.insecure && !trust.LocalHost(host):
		return usagef("--listen %s lets other machines in: add --password env:NAME, or --insecure to allow everyone who can reach it", c.listen)
	}
	return nil
}

// secret resolves a secret that a flag names; variable is the environment variable behind it, if any.
func secret(a *app, flag, reference string) (value, variable string, err error) {
	if name, ok := strings.CutPrefix(reference, "env:"); ok {
		for _, entry := range a.env {
			if key, value, _ := strings.Cut(entry, "="); key == name && value != "" {
				return value, name, nil
			}
		}
		return "", name, usagef("%s: the environment variable %s is not set", flag, name)
	}
	if path, ok := strings.CutPrefix(reference, "file:"); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", "", usagef("%s: %w", flag, err)
		}
		value := strings.TrimRight(string(text), "\r\n")
		if value == "" {
			return "", "", usagef("%s: the file %s is empty", flag, path)
		}
		return value, "", nil
	}
	if reference != "" {
		a.log.Warn(flag + " was written on the command line, where other users of this machine can read it: use env:NAME or file:PATH")
	}
	return reference, "", nil
}

// greet tells the user where the server is and how to ask it.
func (s serveTask) greet(to io.Writer, addr net.Addr, database string) {
	rights, who := "read-only", ""
	if s.AllowWrites {
		rights = "reads and writes"
	}
	if s.Password != "" {
		user := s.User
		if user == "" {
			user = "default"
		}
		who = "-u " + user + " "
	}
	url := "http://" + reachable(addr.String())
	fmt.Fprintf(to, "Serving %s on %s (%s). Ctrl-C ends it. Try:\n  curl %s'%s/?database=%s' -d 'SHOW TABLES'\n",
		database, url, rights, who, url, database)
}

// maxQuery is how long a query may be, in bytes, without the data of an INSERT. The engine itself stops at half of it.
const maxQuery = 512 << 10

// reachable returns an address that clients on this machine can use, also for a server that listens on all addresses.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}
