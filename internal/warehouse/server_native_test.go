package warehouse

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
)

// installed is a ClickHouse server of this machine, which the test starts: the embedded engine does not speak the
// native protocol. It may be an old one, as that of Debian is.
type installed struct{ native, secure, web string }

const serverConfig = `<yandex>
<logger><level>error</level><console>1</console></logger>
<listen_host>127.0.0.1</listen_host><tcp_port>%s</tcp_port><tcp_port_secure>%s</tcp_port_secure><http_port>%s</http_port>
<openSSL><server><certificateFile>%s</certificateFile><privateKeyFile>%s</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>
<path>%s/</path><tmp_path>%[6]s/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>1000000</mark_cache_size>
</yandex>`

const serverUsers = `<yandex><profiles><default/></profiles><quotas><default/></quotas><users><loader>
<password>right</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
</loader></users></yandex>`

// startInstalled starts the server in a folder of its own, or skips the test if none is installed.
func startInstalled(t *testing.T, a authority) installed {
	t.Helper()
	path, err := exec.LookPath("clickhouse-server")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/clickhouse-server"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("no clickhouse-server is installed: CI has to install it, or this is not tested at all")
			}
			t.Skip("no clickhouse-server is installed: Debian has one, in the package of that name")
		}
	}
	ports := make([]string, 3)
	for i := range ports {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		_, ports[i], _ = net.SplitHostPort(free.Addr().String())
		must(t, free.Close())
	}
	dir := t.TempDir()
	config := fmt.Sprintf(serverConfig, ports[0], ports[1], ports[2], a.cert, a.key, filepath.Join(dir, "data"))
	must(t, os.WriteFile(filepath.Join(dir, "config.xml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "users.xml"), []byte(serverUsers), 0o600))
	cmd := exec.CommandContext(t.Context(), path, "--config-file="+filepath.Join(dir, "config.xml"))
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { <-ended })
	s := installed{native: "127.0.0.1:" + ports[0], secure: "127.0.0.1:" + ports[1], web: "127.0.0.1:" + ports[2]}
	for !s.answers(t.Context()) {
		select {
		case <-ended:
			t.Fatalf("the server does not start: %s", said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return s
}

func (s installed) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.web+"/ping", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// TestInstalledServer connects to a real server over the native protocol and over HTTP, with TLS and without, with a
// wrong password and to the wrong port. Debian's server is too old, and the error says so. For wide samples: it starts
// a server in a process of its own.
func TestInstalledServer(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	a := newAuthority(t)
	s := startInstalled(t, a)
	ca := TLS{CAFile: a.ca}
	for _, tt := range []struct {
		name, dsn string
		tls       TLS
		auth      bool // refused because of the credentials
		want      string
	}{
		{"native", "clickhouse://loader:right@" + s.native, TLS{}, false, tooOldText},
		{"native with TLS", "clickhouse://loader:right@" + s.secure + "?secure=true", ca, false, tooOldText},
		{"native, not compressed", "clickhouse://loader:right@" + s.native + "?compress=none", TLS{}, false, tooOldText},
		{"HTTP", "http://loader:right@" + s.web, TLS{}, false, tooOldText},
		{"wrong password", "clickhouse://loader:wrong@" + s.native, TLS{}, true, ""},
		{"wrong password with TLS", "clickhouse://loader:wrong@" + s.secure + "?secure=true", ca, true, ""},
		{"wrong password over HTTP", "http://loader:wrong@" + s.web, TLS{}, true, ""},
		{"an authority that is not known", "clickhouse://loader:right@" + s.secure + "?secure=true", TLS{}, false,
			"warehouse.ca_file"},
		{"native on the HTTP port", "clickhouse://loader:right@" + s.web, TLS{}, false, "begin it with http://"},
		{"HTTP on the native port", "http://loader:right@" + s.native, TLS{}, false, "begin it with clickhouse://"},
		{"TLS on the port without", "clickhouse://loader:right@" + s.native + "?secure=true", ca, false,
			"begin it with clickhouse://"},
		{"no TLS on the port with", "clickhouse://loader:right@" + s.secure, TLS{}, false, "begin it with clickhouses://"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Open(t.Context(), Options{DSN: tt.dsn, TLS: tt.tls, NoRetry: true})
			must(t, err)
			defer func() { must(t, w.Close()) }()
			known, err := w.Identify(t.Context())
			switch {
			case IsAuth(err) != tt.auth:
				t.Errorf("refused credentials: %t, %v", IsAuth(err), err)
			case tt.want == tooOldText && err == nil: // a current server
				if isOlder(known.Version, MinimumVersion) {
					t.Errorf("%s is accepted", known.Version)
				}
			case !tt.auth && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v", err)
			}
		})
	}
	for name, o := range map[string]Options{
		"native":          {DSN: "clickhouse://loader:right@" + s.native},
		"native with TLS": {DSN: "clickhouse://loader:right@" + s.secure + "?secure=true", TLS: ca},
	} {
		t.Run("rows, "+name, func(t *testing.T) { rowsBothWays(t, o) })
	}
}

const tooOldText = "this program needs " + MinimumVersion + " or later"

// rowsBothWays sends rows in the types of staging tables, and reads them.
func rowsBothWays(t *testing.T, o Options) {
	t.Helper()
	ctx := t.Context()
	opts, err := serverOptions(o, dialect{}, "default", false)
	must(t, err)
	if opts.Compression == nil {
		t.Error("not compressed")
	}
	opts.Settings = nil // which old servers do not know
	conn, err := clickhouse.Open(opts)
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	must(t, conn.Exec(ctx, "CREATE TABLE sent (id UUID, code String, amount Int64, at Nullable(Int64)) ENGINE = Memory"))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO sent (id, code, amount, at)")
	must(t, err)
	const rows = 10_000
	for i := range int64(rows) {
		var at *int64
		if i%2 == 0 {
			at = &i
		}
		must(t, batch.Append(uuid.NewSHA1(uuid.NameSpaceURL, []byte(fmt.Sprint(i))), fmt.Sprintf("%d €", i), -i, at))
	}
	must(t, batch.Send())
	var got [4]uint64
	must(t, conn.QueryRow(ctx, "SELECT count(), uniqExact(id), toUInt64(-sum(amount)), toUInt64(sum(at)) FROM sent WHERE code = concat(toString(-amount), ' €')").
		Scan(&got[0], &got[1], &got[2], &got[3]))
	if d := cmp.Diff([4]uint64{rows, rows, rows * (rows - 1) / 2, rows / 2 * (rows/2 - 1)}, got); d != "" {
		t.Error(d)
	}
	must(t, conn.Exec(ctx, "DROP TABLE sent"))
}
