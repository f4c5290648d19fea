//go:build !noengine

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	osuser "os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// shrink lets the API list half of the coupons of acme, which the guard of deletions stops.
func (b *bench) shrink(t *testing.T) {
	t.Helper()
	var ids []string
	for record := range b.sim.Truth(apisim.StreamCoupons, "acme") {
		var c struct{ ID string }
		if err := json.Unmarshal(record, &c); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	for _, id := range ids[:len(ids)/2] {
		if err := b.sim.Delete(apisim.StreamCoupons, "acme", id); err != nil {
			t.Fatal(err)
		}
	}
}

// By commands alone: what is paused is left out by a sync, which says so, and consent lets one sync delete.
func TestOperateWithoutDaemon(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.env = append(b.env, "USER=robin") // which anybody can set, and nobody is
	who := systemUser()
	if account, err := osuser.Current(); err == nil && who != account.Username {
		t.Errorf("the user is %q, the account of the system %q", who, account.Username)
	}
	b.call(t, "operate", "pause", "coupons", "--account", "acme").want(t, 2, "there is no warehouse")
	defer engineTurn(t)()
	b.migrated(t)
	defer hold(t, b.dir)() // to open the engine for each command takes longer than the command
	first := []string{"sync", "coupons", "promotions"}
	if !enginetest.Wide() {
		first = []string{"sync", "coupons", "--account", "acme"} // which is what has to be there
	}
	b.call(t, first...).want(t, 0)
	for args, says := range map[string]string{
		"pause coupons":                               "say which account",
		"pause vouchers --account acme":               `there is no stream "vouchers"`,
		"pause --account initech":                     `there is no account "initech"`,
		"pause coupons payouts --account acme":        "accepts at most 1 arg",
		"consent --account acme":                      "name the stream",
		"consent coupons --account acme --run 12":     "not the id of a run",
		"log --limit 0":                               "want 1 or more",
		"":                                            "name one of the commands pause, resume",
		"pause --account acme --reason " + "\x1b[31m": "want one line of text",
	} {
		b.call(t, append([]string{"operate"}, strings.Fields(args)...)...).want(t, 2, says)
	}
	b.call(t, "operate", "consent", "coupons", "--account", "acme").want(t, 2,
		"no run of coupons of acme waits for consent")
	b.call(t, "operate", "pause", "coupons", "--account", "acme", "--reason", "half empty").shows(t,
		"Coupons of acme is paused")
	b.call(t, "operate", "pause", "coupons", "--account", "acme").shows(t, "paused already, by "+who)
	b.call(t, "operate", "pause", "--account", "globex").want(t, 0)
	got := b.call(t, "sync", "coupons", "promotions")
	got.want(t, 0, who+" has paused this stream", "(half empty)", "`dealhouse operate resume coupons --account acme`",
		who+" has paused account globex", "`dealhouse operate resume --account globex`")
	if strings.Contains(got.out, "coupons") || strings.Contains(got.out, "globex") ||
		!strings.Contains(got.out, "promotions") {
		t.Errorf("what is paused was loaded:\n%s", got.out)
	}
	b.call(t, "backfill", "transactions", "--account", "globex", "--from", "2025-11-01", "--to", "2025-11-02").want(t, 0,
		who+" has paused account globex")
	b.call(t, "operate", "resume", "--account", "globex").shows(t, "is resumed")
	b.call(t, "operate", "resume", "coupons", "--account", "acme").shows(t, "is resumed")

	b.shrink(t)
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 4, "`dealhouse operate consent coupons --account acme`",
		"--allow-mass-delete")
	b.call(t, "operate", "consent", "coupons", "--account", "acme", "--run",
		"00000000-0000-4000-8000-000000000001").want(t, 2, "another run of coupons of acme was stopped since")
	b.call(t, "operate", "consent", "coupons", "--account", "acme").shows(t, "may delete up to", "rows, within a day")
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 0, who+" has agreed to the deletion")
	b.shrink(t)
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 4, "stopped by a guard")
	log := b.call(t, "operate", "log", "--output", "csv")
	log.shows(t, ","+who+",command,pause,acme,coupons,0,half empty,", ",,run,consent_used,acme,coupons,",
		","+who+",command,resume,globex,,")
	if strings.Contains(log.out, "robin") {
		t.Errorf("the name in the environment was recorded:\n%s", log.out)
	}
	if n := strings.Count(log.out, "\n"); n != 7 {
		t.Errorf("%d lines:\n%s", n, log.out)
	}
	b.call(t, "operate", "log", "--limit", "2").shows(t, "consent_used", who)
}

// Beside a daemon, the same commands work through it, and it obeys. For wide samples: TestOperateDaemon has a daemon
// that obeys, TestCommandsBesideDaemon commands that work through it.
func TestOperateBesideDaemon(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	streams := narrow("coupons", "payouts")
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	b.call(t, "operate", "pause", "coupons").want(t, 0)
	d.until(t, "it is paused", func() bool { return d.sum(t, "dealhouse_paused", "stream=coupons") == 1 })
	b.call(t, "operate", "resume", "coupons").want(t, 0)
	d.until(t, "it is resumed", func() bool { return d.sum(t, "dealhouse_paused") == 0 })
	b.shrink(t)
	b.call(t, "sync", "coupons").want(t, 4, "stopped by a guard")
	before := d.sum(t, "dealhouse_live_rows", "stream=coupons")
	b.call(t, "operate", "consent", "coupons").want(t, 0)
	d.until(t, "the daemon has deleted them", func() bool {
		rows := d.sum(t, "dealhouse_live_rows", "stream=coupons")
		return rows > 0 && rows < before
	})
	b.call(t, "operate", "pause").want(t, 0)
	d.ends(t, syscall.SIGTERM)
	next := b.daemon(t, b.config)
	if n := next.sum(t, "dealhouse_paused"); n < float64(len(orAll(streams))) {
		t.Errorf("after a restart %v streams are paused", n)
	}
	if runs := next.sum(t, "dealhouse_runs_total"); runs > 0 {
		t.Errorf("%v runs of what is paused", runs)
	}
	next.ends(t, syscall.SIGTERM)
}

// What only a daemon can do is asked of it over HTTP, as the user that is configured. For wide samples: package daemon
// has what a daemon does when it is asked, TestOperateWithoutDaemon the commands.
func TestOperateDaemon(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.env = append(b.env, "OPS_PASSWORD="+globexKey)
	b.migrated(t)
	streams := narrow("coupons", "transactions")
	b.yearly(t, streams...)
	address := freeAddress(t)
	without := b.config
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := newCertificate(t)
	b.config = b.write(t, strings.Replace(string(text), "[daemon]",
		fmt.Sprintf("[daemon]\nlisten = %q\nuser = \"ops\"\npassword = \"env:OPS_PASSWORD\"\ntls_cert = %q\ntls_key = %q",
			address, certFile, keyFile), 1))
	b.call(t, "operate", "run", "coupons").want(t, 1, "no daemon answers", "`dealhouse sync`")
	got := call(t, b.env, "operate", "run", "coupons", "--config", without)
	got.want(t, 2, "set daemon.user and daemon.password")

	held, open := make(chan struct{}, 1), make(chan struct{})
	d := start(t, b.env, "run", "--config", b.config)
	(&running{process: d}).until(t, "it answers", func() bool { return strings.Contains(d.stderr.String(), "the daemon has begun") })
	(&running{process: d}).until(t, "it has loaded everything", func() bool {
		got := b.call(t, "query", "SELECT uniqExact(stream) FROM sync_runs WHERE outcome = 'success'", "--output", "csv")
		return strings.HasSuffix(got.out, fmt.Sprintf("\n%d\n", len(orAll(streams))))
	})
	b.sim.SetBefore(func(r *http.Request) {
		if strings.Contains(r.URL.Path, "coupons") {
			select {
			case held <- struct{}{}:
			default:
			}
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
	})
	(&running{process: d}).until(t, "nothing runs", func() bool {
		return strings.Contains(b.call(t, "operate", "cancel").out, "No run of account acme is under way")
	})
	b.call(t, "operate", "run", "coupons", "--reason", "they said it is mended").shows(t,
		"A run of coupons of acme starts now.")
	<-held
	b.call(t, "operate", "run", "coupons").shows(t, "under way already")
	b.call(t, "operate", "cancel", "coupons").shows(t, "1 run of coupons of acme will stop")
	(&running{process: d}).until(t, "it has stopped", func() bool {
		return strings.Contains(b.call(t, "runs", "--stream", "coupons", "--limit", "1", "--output", "csv").out, "stopped")
	})
	close(open)
	stopped := b.call(t, "runs", "--stream", "coupons", "--limit", "1", "--output", "csv")
	stopped.shows(t, "cancelled by ops")
	b.call(t, "operate", "run", "transactions", "--full").shows(t, "starts now")
	b.call(t, "operate", "reload").shows(t, "read again and is in force")
	good, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.config, []byte(strings.Replace(string(good), "0 0 1 1 *", "now and then", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	mended := b.write(t, string(good))
	call(t, b.env, "operate", "reload", "--config", mended).want(t, 1, "the configuration was refused", "now and then")
	b.config = mended
	other := append([]string{}, b.env...)
	other[len(other)-1] = "OPS_PASSWORD=another"
	call(t, other, "operate", "run", "--config", b.config).want(t, 3, "refuses daemon.user")
	b.call(t, "operate", "run", "--url", "https://"+address).want(t, 1, "certificate") // a name that nobody vouches for
	b.call(t, "operate", "run", "--url", "https://u:p@"+address).want(t, 2, "without user and password")
	newCert, _ := newCertificate(t)
	b.config = b.write(t, strings.Replace(string(good), certFile, newCert, 1))
	b.call(t, "operate", "run").want(t, 1, "no daemon answers") // it is not the one: no password is sent
	b.config = mended
	log := b.call(t, "operate", "log", "--output", "csv")
	log.shows(t, ",ops,api,run,acme,coupons,0,they said it is mended", ",ops,api,cancel,acme,coupons",
		",ops,api,run_full,acme,transactions", ",ops,api,reload,,")
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143)
}

// newCertificate writes a certificate of its own, and its key.
func newCertificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "dealhouse.example"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der},
		keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
