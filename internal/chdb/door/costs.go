package door

import (
	"crypto/sha256"
	"net"
	"net/http"
	"time"

	"dealhouse/internal/chdb/recent"
)

// costs remembers how long requests have held their turns lately, by connection, by address and by statement, no
// matter who sent the statement.
type costs struct {
	*recent.Map[string, time.Duration]
}

// remembered is how many connections, addresses and statements together are kept, in each of the two
// generations of a recent.Map.
const remembered = 2048

// source has the keys under which costs keeps the cost of a request. By them it looks up the expected cost
// before the request runs.
type source struct {
	statement  string // a hash, or "" if the cost depends on data that the client sends
	connection string
	address    string
}

// sourceOf returns the source of a request. Data arrive at the client's pace, so the statement of an INSERT with data
// says nothing about its cost.
func sourceOf(req *http.Request, r *request) source {
	s := source{connection: "connection " + req.RemoteAddr, address: "address " + req.RemoteAddr}
	if host, _, err := net.SplitHostPort(req.RemoteAddr); err == nil {
		s.address = "address " + host
	}
	if r.Data == nil {
		sum := sha256.Sum256([]byte(r.Database + "\x00" + r.SQL))
		s.statement = string(sum[:])
	}
	return s
}

// expect returns how long a request will probably hold its turn, judging by earlier ones. It takes the lower of the
// costs of the statement and of the connection. So one client cannot make a statement look expensive for another client
// that asks for little. If both are new, it takes the cost of the client's address.
func (c *costs) expect(s source) time.Duration {
	statement, known := c.Get(s.statement)
	connection, met := c.Get(s.connection)
	switch {
	case known && met:
		return min(statement, connection)
	case known:
		return statement
	case met:
		return connection
	}
	address, _ := c.Get(s.address)
	return address
}

// mayBeBrief tells whether a request may take only a moment: nothing is known about it, or requests
// like it were brief lately.
func (c *costs) mayBeBrief(s source) bool {
	_, known := c.Get(s.statement)
	_, met := c.Get(s.connection)
	return !known && !met || c.expect(s) < longestTrial/2
}

// record notes how long a request has held its turn. The last request counts as much as all before it together.
func (c *costs) record(s source, held time.Duration) {
	for _, key := range []string{s.statement, s.connection, s.address} {
		if key == "" {
			continue
		}
		mean := held
		if before, ok := c.Get(key); ok {
			mean = (before + held) / 2
		}
		c.Put(key, mean)
	}
}
