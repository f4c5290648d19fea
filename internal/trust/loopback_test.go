package trust

import (
	"net"
	"testing"
)

func TestHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "localhost.": true,
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "::1%lo": true,

		"a.localhost": false, "A.b.LocalHost.": false,
		"": false, ".": false, "localhost..": false, "notlocalhost": false, "localhost.example.com": false,
		"127.0.0.1.example.com": false, "127.1": false, "127.0.0.1.": false, "0.0.0.0": false, "::": false, "::2": false,
		"10.0.0.1": false, "::ffff:10.0.0.1": false, "[::1]": false, "localhost:80": false,
	} {
		if got := LocalHost(host); got != want {
			t.Errorf("LocalHost(%q) = %v", host, got)
		}
	}
}

func TestRequested(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"localhost": true, "localhost:80": true, "LocalHost.:80": true, "127.0.0.1": true, "127.0.0.1:80": true,
		"[::1]": true, "[::1]:80": true, "::1": true,
		"a.localhost": true, "A.b.LocalHost.:80": true,

		"": false, ":80": false, "[::1": false, "::1]": false, "[[::1]]": false, "[]": false, "0.0.0.0:80": false,
		"localhost.evil.example:80": false, "127.0.0.1.evil.example": false, "localhost:80:80": false, "[::2]:80": false,
	} {
		if got := LocalRequest(s); got != want {
			t.Errorf("LocalRequest(%q) = %v", s, got)
		}
	}
}

func TestListener(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address net.Addr
		want    bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true},
		{&net.TCPAddr{IP: net.IPv6loopback}, true},
		{&net.TCPAddr{IP: net.IPv4zero}, false},
		{&net.TCPAddr{}, false},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, false},
		{&net.UnixAddr{Name: "/run/x"}, false},
	} {
		if got := LocalListener(test.address); got != test.want {
			t.Errorf("LocalListener(%v) = %v", test.address, got)
		}
	}
}
