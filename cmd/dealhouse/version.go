package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"dealhouse/internal/chdb"
)

// Set by the linker where the build cannot see the repository, as in a container: -ldflags "-X main.version=1.2.3".
var version, revision string

// build is what the linker knows of this binary.
type build struct{ version, revision, time string }

func readBuild() build {
	b := build{version: cmp.Or(version, "devel"), revision: revision}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; version == "" && v != "" && v != "(devel)" {
		b.version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			b.time = s.Value
		case "vcs.modified":
			if s.Value == "true" && b.revision != "" {
				b.revision += " with changes"
			}
		}
	}
	return b
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and that of the ClickHouse engine",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			fmt.Fprintf(a.stdout, "dealhouse %s\n", b.version)
			if b.revision != "" {
				fmt.Fprintf(a.stdout, "revision  %s\n", strings.TrimSuffix(b.revision+", "+b.time, ", "))
			}
			fmt.Fprintf(a.stdout, "go        %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if !chdb.Built {
				fmt.Fprintln(a.stdout, "engine    none in this build: warehouse.dsn must name a server")
				return nil
			}
			fmt.Fprintf(a.stdout, "engine    libchdb %s, a ClickHouse inside the program, for embedded:<folder>\n", chdb.Version)
			return nil
		},
	}
}
