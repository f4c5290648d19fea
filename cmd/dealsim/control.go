package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/trust"
)

// maxBody bounds what a control request may send.
const maxBody = 16 << 20

// control serves the paths under /sim/, which control the simulator.
type control struct{ sim *apisim.Sim }

// newHandler serves the API, and the control endpoints to this machine only.
func newHandler(sim *apisim.Sim) http.Handler {
	c := &control{sim}
	orders := http.NewServeMux()
	orders.HandleFunc("POST /sim/advance", c.advance)
	orders.HandleFunc("POST /sim/touch", c.touch)
	orders.HandleFunc("POST /sim/touch/{stream}", c.touchOne)
	orders.HandleFunc("GET /sim/truth/{stream}", c.truth)
	orders.HandleFunc("GET /sim/status", c.status)
	orders.HandleFunc("GET /sim/settings", c.showSettings)
	orders.HandleFunc("POST /sim/settings", c.changeSettings)
	orders.HandleFunc("PUT /sim/records/{stream}", c.put)
	orders.HandleFunc("DELETE /sim/records/{stream}", c.remove)
	orders.HandleFunc("POST /sim/fault", c.fault)
	orders.HandleFunc("DELETE /sim/fault", c.noFault)

	// No ServeMux in front of the simulator: it would clean paths and redirect.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/sim/") {
			sim.ServeHTTP(w, r)
			return
		}
		if !trust.LocalRequest(r.RemoteAddr) {
			refuse(w, http.StatusForbidden, errors.New("control endpoints answer to this machine only"))
			return
		}
		if !fromHere(r) {
			refuse(w, http.StatusForbidden, errors.New("control endpoints answer under the names of this machine (127.0.0.1, localhost), and not to the pages of others"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		orders.ServeHTTP(w, r)
	})
}

func (c *control) advance(w http.ResponseWriter, r *http.Request) {
	by, days := r.URL.Query().Get("by"), r.URL.Query().Get("days")
	var d time.Duration
	var err error
	switch {
	case by != "" && days == "":
		d, err = time.ParseDuration(by)
	case days != "" && by == "":
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		d = time.Duration(n * float64(24*time.Hour))
	default:
		err = errors.New("want by=72h or days=3")
	}
	if err == nil && d <= 0 {
		err = errors.New("the clock moves forward only")
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	c.sim.Advance(d)
	reply(w, map[string]any{"now": c.sim.Now()})
}

func (c *control) touch(w http.ResponseWriter, r *http.Request) {
	org, err := c.org(apisim.StreamTransactions, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	share, err := strconv.ParseFloat(r.URL.Query().Get("share"), 64)
	if err != nil || !(share > 0 && share <= 1) {
		refuse(w, http.StatusBadRequest, errors.New("share: want more than 0, at most 1"))
		return
	}
	reply(w, map[string]any{"changed": c.sim.TouchTransactions(org, share), "now": c.sim.Now()})
}

func (c *control) touchOne(w http.ResponseWriter, r *http.Request) {
	stream := r.PathValue("stream")
	org, err := c.org(stream, r)
	if err == nil {
		err = c.sim.Touch(stream, org, r.URL.Query().Get("id"))
	}
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	reply(w, map[string]any{"now": c.sim.Now()})
}

// org is the organization that a request names. Streams without organizations need none. If there is only one
// organization, its name can be left out.
func (c *control) org(stream string, r *http.Request) (string, error) {
	if !slices.Contains(apisim.Streams(), stream) {
		return "", fmt.Errorf("stream %q is not one of %v", stream, apisim.Streams())
	}
	org, orgs := r.URL.Query().Get("org"), c.sim.Orgs()
	if !apisim.OfOrganizations(stream) {
		return org, nil
	}
	if org == "" && len(orgs) == 1 {
		return orgs[0], nil
	}
	if !slices.Contains(orgs, org) {
		return "", fmt.Errorf("org %q is not one of %v", org, orgs)
	}
	return org, nil
}

func (c *control) truth(w http.ResponseWriter, r *http.Request) {
	stream := r.PathValue("stream")
	org, err := c.org(stream, r)
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 64<<10)
	var line bytes.Buffer
	for record := range c.sim.Truth(stream, org) {
		// Only a record that was put there can hold a line break.
		if bytes.ContainsAny(record, "\n\r") {
			line.Reset()
			if err := json.Compact(&line, record); err == nil {
				record = line.Bytes()
			}
		}
		_, _ = out.Write(record)
		if out.WriteByte('\n') != nil {
			return // the client is gone
		}
	}
	_ = out.Flush()
}

func (c *control) status(w http.ResponseWriter, _ *http.Request) {
	counts := map[string]any{}
	for _, stream := range apisim.Streams() {
		if !apisim.OfOrganizations(stream) {
			counts[stream] = c.sim.Count(stream, "")
			continue
		}
		by := map[string]int{}
		for _, org := range c.sim.Orgs() {
			by[org] = c.sim.Count(stream, org)
		}
		counts[stream] = by
	}
	reply(w, map[string]any{
		"now": c.sim.Now(), "records": counts,
		"requests": c.sim.Requests(""), "rowsServed": c.sim.Rows(""), "moves": c.sim.Moves(),
	})
}

func (c *control) put(w http.ResponseWriter, r *http.Request) {
	stream := r.PathValue("stream")
	org, err := c.org(stream, r)
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	records := json.NewDecoder(r.Body)
	for n := 0; err == nil; n++ {
		var record json.RawMessage
		if err = records.Decode(&record); err == nil {
			err = c.sim.Put(stream, org, record)
		} else if errors.Is(err, io.EOF) && n > 0 {
			reply(w, map[string]any{"count": c.sim.Count(stream, org)})
			return
		}
	}
	refuse(w, http.StatusBadRequest, err)
}

func (c *control) remove(w http.ResponseWriter, r *http.Request) {
	stream := r.PathValue("stream")
	org, err := c.org(stream, r)
	if err == nil {
		err = c.sim.Delete(stream, org, r.URL.Query().Get("id"))
	}
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	reply(w, map[string]any{"count": c.sim.Count(stream, org)})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // an error means that the client is gone
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}
