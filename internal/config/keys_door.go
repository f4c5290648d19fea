package config

import (
	"net"

	"dealhouse/internal/trust"
)

// Door says where the daemon serves an embedded warehouse to readers.
type Door struct {
	// Listen is the host:port of ClickHouse's HTTP interface; empty: there is none.
	Listen string
	// User and Password are what clients must give; both or neither is set. Password is resolved when Source.NeedDaemon
	// was set.
	User     string
	Password Secret
}

// Strangers reports that other machines are let in.
func (d Door) Strangers() bool {
	host, _, _ := net.SplitHostPort(d.Listen) // it was checked
	return d.Listen != "" && !trust.LocalHost(host)
}

const docDoor = "The embedded warehouse for BI tools and dashboards, read-only, while `dealhouse run` has it open. A ClickHouse server needs no door: ask it directly."

func doorKeys() []key {
	return []key{
		{
			name: "listen", in: inDoor, standard: `""`, example: `"127.0.0.1:8123"`,
			value: checked("host:port", func(v *values) *string { return &v.door.Listen }, orEmpty(checkListen)),
			doc:   `Host and port of ClickHouse's HTTP interface, for clients that speak it. "": there is none.`,
		},
		{
			name: "user", in: inDoor, standard: `""`, example: `"bi"`,
			value: checked("a user name", func(v *values) *string { return &v.door.User }, checkUser),
			doc:   `The user name that clients must give. "": none. Other machines are let in with a password only.`,
		},
		{
			name: "password", in: inDoor, example: `"env:DOOR_PASSWORD"`,
			value: secretOr("password", "the password"),
			doc:   `The password of that user, written like an api_key.`,
		},
	}
}

// door checks the table. The warehouse is where its readers would read.
func (l *reader) door(v *values, w Warehouse) Door {
	d := v.door
	_, password := v.secrets["password"]
	l.together(v, "user", "password", d.User != "", password)
	if _, embedded := w.EmbeddedDir(); d.Listen != "" && !embedded {
		l.problem(v.at["listen"], "[door] serves an embedded warehouse, and this one is a server: ask it directly")
	}
	if d.Strangers() && !password {
		l.problem(v.at["listen"], "[door] lets other machines in with a password only: set user and password, or listen on 127.0.0.1")
	}
	if d.Listen != "" {
		l.warnLiteral(v, "password", "the password of [door]", "")
		d.Password = l.secret(v, "password", "", l.src.NeedDaemon)
	}
	return d
}
