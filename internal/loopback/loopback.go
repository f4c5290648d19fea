// Package loopback says which names and addresses are this machine. What is sent there crosses no network, so it needs
// no encryption; and a web page of somebody else cannot have such a name.
package loopback

import (
	"net"
	"net/netip"
	"strings"
)

// Host reports whether the host of a URL, a name or a number without a port, is this machine: localhost, a name below
// it (RFC 6761 reserves them for this), or an address such as 127.0.0.1 or ::1.
func Host(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// HostPort is Host for a host as HTTP writes it: with a port or without, and a number of IPv6 in brackets.
func HostPort(s string) bool {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return Host(host)
	}
	if number, ok := strings.CutPrefix(s, "["); ok {
		number, ok = strings.CutSuffix(number, "]")
		return ok && Host(number)
	}
	return Host(s)
}

// Listener reports whether only this machine reaches what listens on an address.
func Listener(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
