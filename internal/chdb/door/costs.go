package door

import (
	"crypto/sha256"
	"net"
	"net/http"
	"time"

	"dealhouse/internal/chdb/recent"
)

// costs remembers how long requests have held their turns lately, by connection, by address, and by statement. For a
// statement it does not matter who sent it.
type costs struct {
	*recent.Map[string, time.Duration]
}

// remembered is how many connections, addresses and statements are kept, in each of two generations.
const remembered = 2048

// source is what the expected cost of a request is looked up by, before it runs.
type source struct {
	statement  string // a hash, or "" where the cost lies in the data that the client sends
	connection string
	address    string
}

// sourceOf names the source of a request. Data come at the client's pace, so the statement of an INSERT with data says
// nothing about its cost.
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

// expect tells how long a request will hold its turn, going by others like it. It takes the lower of the costs known
// for the statement and for the connection: so nobody can make a statement look costly for a client that asks for
// little. A new connection with a new statement is expected to be like the others at its address.
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

// mayBeBrief tells whether a request may be done in a moment: nothing is known of it, or it was so lately.
func (c *costs) mayBeBrief(s source) bool {
	_, known := c.Get(s.statement)
	_, met := c.Get(s.connection)
	return !known && !met || c.expect(s) < longestTrial/2
}

// record notes how long a request has held its turn. The last one counts as much as all before it.
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
