package config

import (
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// build makes the Config of what was read, and checks what no key can check alone.
func (l *reader) build(top *scope) *Config {
	v := top.values
	c := &Config{
		File: l.file, Warehouse: l.warehouse(v), Daemon: l.daemon(v), Lineage: l.lineage(top.find("lineage")[0].values),
		Finance: v.finance, Retention: v.retention,
	}
	c.Door = l.door(top.find("door")[0].values, c.Warehouse)
	for _, s := range l.distinctNames(top.find("account"), "account") {
		c.Accounts = append(c.Accounts, l.account(s))
	}
	for _, s := range l.distinctNames(top.find("receiver"), "receiver") {
		c.Receivers = append(c.Receivers, l.receiver(s, c.Accounts))
	}
	if l.src.NeedAccounts && len(c.Accounts) == 0 && len(l.problems) == 0 {
		l.noAccounts()
	}
	return c
}

// distinctNames reports tables of one name, and returns all.
func (l *reader) distinctNames(tables []*scope, what string) []*scope {
	seen := map[string]position{}
	for _, s := range tables {
		name := s.values.ownName()
		if first, twice := seen[name]; twice && name != "" {
			l.problem(s.values.at["name"], "a second %s %q; the first is at %s", what, name, first)
		}
		seen[name] = s.values.at["name"]
	}
	return tables
}

func (l *reader) noAccounts() {
	if l.file != "" {
		l.problem(position{file: l.file}, "no account is configured: add an [[account]] table with name, base_url and api_key")
		return
	}
	l.problems = append(l.problems, Problem{
		Message: fmt.Sprintf("no configuration: there is no %s here and no account in the environment.", FileName),
		Advice: fmt.Sprintf("To start: `dealhouse init URL --key env:NAME` writes %s, or set %s and %s.\n"+
			"To look around first: `dealhouse demo` needs no configuration.", FileName, envBaseURL, envAPIKey),
	})
}

func (l *reader) warehouse(v *values) Warehouse {
	source, w := l.dataSource(v), v.warehouse
	w.DSN = NewSecret(source.text)
	at := v.at["dsn"]
	if source.database != "" {
		// What the dsn names is never shown: it may be the rest of a password that was not %-encoded.
		switch {
		case checkIdentifier(source.database) != nil:
			l.problem(at, "dsn: the database name may contain only letters, digits and _; "+
				"reserved characters in user and password are to be %%-encoded")
		case !v.has("database"):
			w.Database = source.database
		case source.database != v.warehouse.Database:
			l.problem(v.at["database"], "database is %s and the dsn names another: leave one of them out",
				quote(v.warehouse.Database))
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
	l.together(v, "cert_file", "key_file", w.CertFile != "", w.KeyFile != "")
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
	d := v.daemon
	d.PublicURL = strings.TrimRight(d.PublicURL, "/")
	_, password := v.secrets["password"]
	l.together(v, "user", "password", d.User != "", password)
	l.together(v, "tls_cert", "tls_key", d.TLSCert != "", d.TLSKey != "")
	l.warnLiteral(v, "password", "the password of [daemon]", "")
	d.Password = l.secret(v, "password", "", l.src.NeedDaemon)
	return d
}

// together reports two keys of which only one is set.
func (l *reader) together(v *values, a, b string, hasA, hasB bool) {
	if hasA == hasB {
		return
	}
	at, ok := v.at[b]
	if !ok || !hasB {
		at = v.at[a]
	}
	l.problem(at, "%s and %s go together: one is set and the other is not", a, b)
}

func (l *reader) account(s *scope) Account {
	v := s.values
	a := v.account
	if plaintext(a.BaseURL) && !a.AllowInsecure {
		l.problem(v.at["base_url"], "base_url must be https:// unless the API is on this machine, since http:// sends the key "+
			"unencrypted; allow_insecure = true permits it")
	}
	l.distinctParams(v)
	a.Key = l.accountKey(v, a.Name, "api_key", true)
	a.PassbackKey = l.passbackKey(v, a)
	for _, streams := range s.find("streams") {
		for _, inner := range streams.inner {
			a.Streams = append(a.Streams, l.stream(a, v, inner))
		}
	}
	return a
}

// passbackKey returns the key of the hash of what may name a person. It is kept out of the file like an API key.
func (l *reader) passbackKey(v *values, a Account) Secret {
	if _, given := v.secrets["passback_key"]; a.Passback == PassbackHash && !given {
		l.problem(v.at["passback"], `account %q: passback = "hash" needs passback_key`, a.Name)
	}
	l.warnLiteral(v, "passback_key", fmt.Sprintf("account %q: passback_key", a.Name), "")
	return l.secret(v, "passback_key", fmt.Sprintf("account %q: ", a.Name), l.src.NeedAccounts && a.Passback == PassbackHash)
}

func (l *reader) stream(a Account, account *values, s *scope) Stream {
	v, described := s.values, s.section.stream
	own := names(keysIn(s.section))
	for _, k := range vocabulary {
		if k.in&inStream != 0 && !slices.Contains(own, k.name) {
			k.value.zero(v) // another stream has it, and the account may have set it for that one
		}
	}
	out := v.stream
	out.Name, out.Key = s.section.name, a.Key
	out.Scope = l.scopeOf(described, v)
	if p := a.Params; !out.InitialFrom.IsZero() && (p.UpdatedAfter == "" || p.UpdatedBefore == "") {
		l.problem(v.at["initial_from"], "initial_from needs the filters updated_after and updated_before, and one of them is empty")
	}
	if v.at["api_key"] != account.at["api_key"] {
		out.Key = l.accountKey(v, a.Name, "streams."+out.Name+".api_key", out.Enabled)
	}
	return out
}

// accountKey returns an API key. One that nobody needs, because its stream is off, may be missing.
func (l *reader) accountKey(v *values, account, key string, needed bool) Secret {
	loose := ""
	if l.loose {
		loose = "; every user of this machine can read it (chmod 600)"
	}
	l.warnLiteral(v, "api_key", fmt.Sprintf("account %q: %s", account, key), loose)
	if !needed {
		quiet := &reader{findings: &findings{}, env: l.env, read: l.read}
		return quiet.secret(v, "api_key", "", l.src.NeedAccounts)
	}
	return l.secret(v, "api_key", fmt.Sprintf("account %q: ", account)+strings.TrimSuffix(key, "api_key"), l.src.NeedAccounts)
}

// warnLiteral asks for a secret to be moved out of the file.
func (l *reader) warnLiteral(v *values, key, what, more string) {
	if from, given := v.secrets[key]; given && from.scheme == "" && v.at[key].env == "" {
		l.warn(v.at[key], "%s is written in the file: use env:NAME or file:PATH instead%s", what, more)
	}
}

// secret fetches a secret if the command needs it. who stands before the name of the key in what is reported.
func (l *reader) secret(v *values, key, who string, needed bool) Secret {
	from, given := v.secrets[key]
	if !given || !needed {
		return Secret{}
	}
	found, loose, err := from.resolve(l.env, l.read)
	if err != nil {
		l.problem(v.at[key], "%s%s: %s", who, key, err)
	}
	if loose {
		l.warn(v.at[key], "%s%s: every user of this machine can read %s (chmod 600)", who, key, from.place())
	}
	return found
}

// distinctParams reports names that are used twice in one request: the service would see only one of the values.
func (l *reader) distinctParams(v *values) {
	p := v.account.Params
	cursor := param{"cursor", p.Cursor}
	l.distinct(v, cursor, param{"updated_after", p.UpdatedAfter}, param{"updated_before", p.UpdatedBefore})
	filters := []param{cursor}
	for _, f := range catalog.Filters() {
		filters = append(filters, param{f.Name, p.Filters[f.Name]})
	}
	l.distinct(v, filters...)
}

// param is the name of a parameter, and the key that sets it.
type param struct{ key, name string }

func (l *reader) distinct(v *values, params ...param) {
	seen := map[string]string{}
	for _, p := range params {
		if p.name == "" {
			continue
		}
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
