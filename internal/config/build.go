package config

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// build makes the Config of what was read, and checks what no key can check alone.
func (l *reader) build(top *scope) *Config {
	c := &Config{
		File:      l.file,
		Warehouse: l.warehouse(top.values),
		Daemon:    l.daemon(top.values),
		Lineage:   l.lineage(top.find("lineage")[0].values),
		Finance: Finance{OverdueAfter: top.values.overdueAfter, Tolerances: top.values.tolerances,
			Settlements: top.values.settlements, Journal: top.values.journal},
		Retention: top.values.retention,
	}
	seen := map[string]position{}
	for _, account := range top.find("account") {
		name := account.values.name
		if first, twice := seen[name]; twice && name != "" {
			l.problem(account.values.at["name"], "a second account %q; the first is at %s", name, first)
		}
		seen[name] = account.values.at["name"]
		c.Accounts = append(c.Accounts, l.account(account))
	}
	c.Receivers = l.receivers(top, c.Accounts)
	if l.src.NeedAccounts && len(c.Accounts) == 0 && len(l.problems) == 0 {
		l.noAccounts()
	}
	return c
}

func (l *reader) noAccounts() {
	if l.file != "" {
		l.problem(position{file: l.file}, "no account is configured: add an [[account]] table with name, base_url and api_key")
		return
	}
	l.problems = append(l.problems, Problem{
		Message: fmt.Sprintf("no configuration: there is no %s here and no account in the environment.", FileName),
		Advice: fmt.Sprintf("To start: copy config.example.toml to %s and edit it, or set %s and %s.\n"+
			"To look around first: `dealhouse demo` needs no configuration.", FileName, envBaseURL, envAPIKey),
	})
}

func (l *reader) warehouse(v *values) Warehouse {
	source := l.dataSource(v)
	w := Warehouse{
		DSN: NewSecret(source.text), Database: v.database, ViewsDatabase: v.viewsDatabase, Cluster: v.cluster,
		MaxRetryElapsed: v.maxWarehouseRetry,
		CAFile:          v.caFile, CertFile: v.certFile, KeyFile: v.keyFile,
	}
	at := v.at["dsn"]
	if source.database != "" {
		// What the dsn names is never shown: it may be the rest of a password that was not %-encoded.
		switch {
		case checkIdentifier(source.database) != nil:
			l.problem(at, "dsn: the database name may contain only letters, digits and _; "+
				"reserved characters in user and password are to be %%-encoded")
		case !v.has("database"):
			w.Database = source.database
		case source.database != v.database:
			l.problem(v.at["database"], "database is %s and the dsn names another: leave one of them out",
				quote(v.database))
		}
	}
	if views := w.ViewsDatabase; views != "" &&
		(views == w.Database || views == w.Database+"_shard" || views == w.Database+"_runs") {
		l.problem(v.at["views_database"], "views_database is %s, which has the tables: give the views a database of their own", quote(views))
	}
	l.server(v, w)
	return w
}

// dataSource returns what dsn says, or what the file says that it names.
func (l *reader) dataSource(v *values) dataSource {
	at, given := v.at["dsn"]
	if v.dsn.file == "" {
		if given && l.loose && v.dsn.password && at.env == "" {
			l.warn(at, "the password in dsn can be read by every user of this machine: use DEALHOUSE_WAREHOUSE_DSN or chmod 600 the file")
		}
		return v.dsn
	}
	data, mode, err := l.read(v.dsn.file)
	if err != nil {
		l.problem(at, "dsn: %s", unread("cannot read the file "+quote(v.dsn.file), err))
		return dataSource{}
	}
	source, err := parseDSN(strings.TrimSpace(string(data)))
	if err != nil {
		l.problem(at, "dsn: what the file %s has %s", quote(v.dsn.file), err)
	}
	if mode&othersRead != 0 && source.password {
		l.warn(at, "dsn: every user of this machine can read %s (chmod 600)", quote(v.dsn.file))
	}
	return source
}

// server reports settings that are not for the embedded engine, and pairs of which only one is set.
func (l *reader) server(v *values, w Warehouse) {
	if (w.CertFile == "") != (w.KeyFile == "") {
		at, ok := v.at["key_file"]
		if !ok || w.KeyFile == "" {
			at = v.at["cert_file"]
		}
		l.problem(at, "cert_file and key_file go together: one is set and the other is not")
	}
	if _, embedded := w.EmbeddedDir(); !embedded {
		return
	}
	if w.Cluster != "" {
		l.problem(v.at["cluster"], "cluster is for servers, but dsn names the embedded ClickHouse: leave it empty")
	}
	for _, k := range []struct{ name, value string }{{"ca_file", w.CAFile}, {"cert_file", w.CertFile}} {
		if k.value != "" {
			l.warn(v.at[k.name], "%s is for a server, but dsn names the embedded ClickHouse: it is not used", k.name)
		}
	}
}

func (l *reader) daemon(v *values) Daemon {
	d := Daemon{
		Listen: v.listen, User: v.user, TLSCert: v.tlsCert, TLSKey: v.tlsKey, Pprof: v.pprof,
		TimeZone: v.timeZone, Jitter: v.jitter, Grace: v.grace, Retry: v.retry, MaxRuns: int(v.maxRuns),
		PublicURL: strings.TrimRight(v.publicURL, "/"),
	}
	switch {
	case (v.user == "") != (v.password == reference{}):
		at, ok := v.at["password"]
		if !ok {
			at = v.at["user"]
		}
		l.problem(at, "user and password go together: one is set and the other is not")
	case (v.tlsCert == "") != (v.tlsKey == ""):
		at, ok := v.at["tls_cert"]
		if !ok {
			at = v.at["tls_key"]
		}
		l.problem(at, "tls_cert and tls_key go together: one is set and the other is not")
	}
	if at := v.at["password"]; v.password.scheme == "" && v.password.target != "" && at.env == "" {
		l.warn(at, "the password of [daemon] is written in the file: use env:NAME or file:PATH instead")
	}
	if l.src.NeedDaemon && v.password != (reference{}) {
		secret, loose, err := v.password.resolve(l.env, l.read)
		if err != nil {
			l.problem(v.at["password"], "password: %s", err)
		}
		if loose {
			l.warn(v.at["password"], "password: every user of this machine can read %s (chmod 600)", v.password.place())
		}
		d.Password = secret
	}
	return d
}

func (l *reader) account(s *scope) Account {
	v := s.values
	a := Account{
		Name:              v.name,
		BaseURL:           v.baseURL,
		Params:            v.params,
		RequestsPerSecond: v.requestsPerSecond,
		Timeout:           v.timeout,
		MaxBodyBytes:      v.maxBodySize,
		MaxRetryElapsed:   v.maxRetryElapsed,
		BatchRows:         int(v.batchRows),
		AllowInsecure:     v.allowInsecure,
	}
	if plaintext(v.baseURL) && !v.allowInsecure {
		l.problem(v.at["base_url"], "base_url must be https:// unless the API is on this machine, since http:// sends the key "+
			"unencrypted; allow_insecure = true permits it")
	}
	a.Params.Filters = v.filterParamNames()
	l.distinctParams(v)
	l.warnLiteral(a.Name, "api_key", v)
	a.Key = l.resolve(a.Name, "api_key", v)
	for _, streams := range s.find("streams") {
		for _, inner := range streams.inner {
			a.Streams = append(a.Streams, l.stream(a, v, inner))
		}
	}
	return a
}

func (l *reader) stream(a Account, account *values, s *scope) Stream {
	v, described := s.values, s.section.stream
	out := Stream{
		Name:             s.section.name,
		Enabled:          v.enabled,
		Schedule:         v.schedule,
		Key:              a.Key,
		MaxDeleteRatio:   v.maxDeleteRatio,
		MaxRejectedRatio: v.maxRejectedRatio,
		RunTimeout:       v.runTimeout,
	}
	out.Scope = l.scopeOf(described, v)
	if described.ByID {
		out.ConfirmDeletes = v.confirmDeletes
	}
	if incremental(described) {
		out.Overlap, out.Resync, out.InitialFrom = v.overlap, v.resync, v.initialFrom
	}
	if described.NamesDeals() {
		out.ReferenceLimit, out.ReferenceRetry = int(v.referenceLimit), v.referenceRetry
	}
	if walked(described) {
		out.ResumeWithin, out.DeleteAfterLists = v.resumeWithin, int(v.deleteAfterLists)
	}
	if v.at["api_key"] == account.at["api_key"] {
		return out
	}
	name := "streams." + out.Name + ".api_key"
	l.warnLiteral(a.Name, name, v)
	if v.enabled {
		out.Key = l.resolve(a.Name, name, v)
		return out
	}
	// A stream that is off needs no key, so a missing one is not a problem.
	out.Key, _, _ = l.tryResolve(v)
	return out
}

// distinctParams reports names that are used twice in one request: the service would see only one of the values.
func (l *reader) distinctParams(v *values) {
	cursor := param{"cursor", v.params.Cursor}
	l.distinct(v, cursor, param{"updated_after", v.params.UpdatedAfter},
		param{"updated_before", v.params.UpdatedBefore})
	filters := []param{cursor}
	for i, f := range catalog.Filters() {
		filters = append(filters, param{f.Name, v.filterParams[i]})
	}
	l.distinct(v, filters...)
}

// param is the name of a parameter, and the key that sets it.
type param struct{ key, name string }

func (l *reader) distinct(v *values, params ...param) {
	seen := map[string]string{}
	for _, p := range params {
		if other, twice := seen[p.name]; twice {
			at, ok := v.at[p.key]
			if !ok {
				at = v.at[other]
			}
			l.problem(at, "%s and %s must differ: both are %s", other, p.key, quote(p.name))
		}
		seen[p.name] = p.key
	}
}

// warnLiteral asks for a key to be moved out of the file.
func (l *reader) warnLiteral(account, key string, v *values) {
	at := v.at["api_key"]
	if v.apiKey.scheme != "" || v.apiKey.target == "" || at.env != "" {
		return
	}
	message := fmt.Sprintf("account %q: %s is written in the file: use env:NAME or file:PATH instead", account, key)
	if l.loose {
		message += "; every user of this machine can read it (chmod 600)"
	}
	l.warn(at, "%s", message)
}

// resolve fetches a key when the command needs it.
func (l *reader) resolve(account, key string, v *values) Secret {
	secret, loose, err := l.tryResolve(v)
	if err != nil {
		l.problem(v.at["api_key"], "account %q: %s: %s", account, key, err)
	}
	if loose {
		l.warn(v.at["api_key"], "account %q: %s: every user of this machine can read %s (chmod 600)", account, key,
			v.apiKey.place())
	}
	return secret
}

func (l *reader) tryResolve(v *values) (Secret, bool, error) {
	if !l.src.NeedAccounts || v.apiKey == (reference{}) {
		return Secret{}, false, nil
	}
	return v.apiKey.resolve(l.env, l.read)
}
