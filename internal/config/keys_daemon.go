package config

import "time"

func daemonKeys() []key {
	return []key{
		{
			name: "listen", in: inDaemon, standard: `"127.0.0.1:9464"`,
			value: checked("host:port", func(v *values) *string { return &v.listen }, checkListen),
			doc:   `Host and port of metrics, health checks and the status page. ":9464" listens on every interface.`,
		},
		{
			name: "user", in: inDaemon, standard: `""`, example: `"ops"`,
			value: checked("a user name", func(v *values) *string { return &v.user }, checkUser),
			doc:   `The user who may read them, by HTTP basic authentication. "": everybody who can reach the port.`,
		},
		{
			name: "password", in: inDaemon, example: `"env:DAEMON_PASSWORD"`,
			value: of(`a string: "env:NAME", "file:PATH" or the password itself`, []nodeKind{aString},
				func(v *values) *reference { return &v.password }, parseReference),
			doc: `The password of that user, in the form of an api_key. Only ` + "`dealhouse run`" + ` and ` + "`dealhouse check`" + ` need it.`,
		},
		{
			name: "tls_cert", in: inDaemon, standard: `""`, example: `"/etc/dealhouse/tls.crt"`,
			value: checked("the path of a file", func(v *values) *string { return &v.tlsCert }, checkPath),
			doc:   `The certificate, with its chain, in PEM: the port then speaks HTTPS. "": HTTP.`,
		},
		{
			name: "tls_key", in: inDaemon, standard: `""`, example: `"/etc/dealhouse/tls.key"`,
			value: checked("the path of a file", func(v *values) *string { return &v.tlsKey }, checkPath),
			doc:   `The private key of that certificate, in PEM.`,
		},
		{
			name: "pprof", in: inDaemon, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.pprof }),
			doc:   `Whether /debug/pprof/ shows profiles of the process, to this machine only.`,
		},
		{
			name: "time_zone", in: inDaemon, standard: `"UTC"`,
			value: checked("a time zone", func(v *values) *string { return &v.timeZone }, checkTimeZone),
			doc:   `The time zone of schedules that name none: "Europe/Paris", or "Local" for that of the machine.`,
		},
		{
			name: "jitter", in: inDaemon, standard: `"10s"`,
			value: duration(func(v *values) *time.Duration { return &v.jitter }, 0, time.Hour),
			doc: `The longest delay of a run after its scheduled time, so that many accounts do not start at once. Each
stream has a delay of its own, which is always the same. "0s": none.`,
		},
		{
			name: "grace", in: inDaemon, standard: `"10s"`,
			value: duration(func(v *values) *time.Duration { return &v.grace }, 0, time.Hour),
			doc: `How long runs under way may go on after SIGTERM before they are stopped. A run that is just publishing
takes up to 20s more to stop: whatever supervises the daemon must wait longer than both together.`,
		},
		{
			name: "retry", in: inDaemon, standard: `"1m 2m 5m 15m 30m"`,
			value: durations(func(v *values) *[]time.Duration { return &v.retry }, time.Second, 24*time.Hour),
			doc: `How long a stream whose run failed waits to be tried again: after the first failure, the second, and so on;
the last one again and again. It runs at its next time if that is sooner. What only a person can mend, such as
a key that is refused, waits for the last one at once, and a run that a guard stopped is not tried again. "":
streams wait for their next time.`,
		},
	}
}
