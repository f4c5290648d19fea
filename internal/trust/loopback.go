package trust

import (
	"net"
	"net/netip"
	"strings"
)

// LocalHost reports whether the host of a URL, a name or a number without a port, is this machine: localhost, or an
// address such as 127.0.0.1 or ::1. A name below localhost is not: Go asks a name server for it, which may answer
// anything.
func LocalHost(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// LocalRequest reports whether a browser that asks for a host, as HTTP writes it, means this machine: with a port or
// without, and a number of IPv6 in brackets. To browsers, the names below localhost are this machine too (RFC 6761).
func LocalRequest(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return named(name)
	}
	if number, ok := strings.CutPrefix(host, "["); ok {
		number, ok = strings.CutSuffix(number, "]")
		return ok && LocalHost(number)
	}
	return named(host)
}

func named(host string) bool {
	return LocalHost(host) || strings.HasSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), ".localhost")
}

// LocalListener reports whether only this machine reaches what listens on an address.
func LocalListener(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
