package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"dealhouse/internal/apisim"
)

// durations are the settings that people write as "50ms", by the object they
// are in.
func durations() map[string][]string {
	return map[string][]string{"": {"latency", "dateSkew"}, "movement": {"step"}}
}

func (c *control) showSettings(w http.ResponseWriter, _ *http.Request) {
	raw, err := json.Marshal(c.sim.Settings())
	if err == nil {
		raw, err = eachDuration(raw, "", func(value json.RawMessage) (any, error) {
			var d time.Duration
			err := json.Unmarshal(value, &d)
			return d.String(), err
		})
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	reply(w, json.RawMessage(raw))
}

func (c *control) changeSettings(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = readableDurations(body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var wrong error
	err = c.sim.Update(func(s *apisim.Settings) {
		next := *s
		if wrong = decode(body, &next); wrong == nil {
			*s = next
		}
	})
	if err := errors.Join(wrong, err); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	c.showSettings(w, r)
}

func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if d.More() {
		return errors.New("body: more than one JSON value")
	}
	return nil
}

// readableDurations turns "50ms" into the nanoseconds that Settings hold.
func readableDurations(body []byte) ([]byte, error) {
	return eachDuration(body, "", func(value json.RawMessage) (any, error) {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return value, nil //nolint:nilerr // a number is taken as nanoseconds
		}
		d, err := time.ParseDuration(text)
		return d.Nanoseconds(), err
	})
}

// eachDuration writes the durations of an object of settings, and of those in
// it, in another way.
func eachDuration(object []byte, name string, write func(json.RawMessage) (any, error)) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	for _, field := range durations()[name] {
		if fields[field] == nil {
			continue
		}
		value, err := write(fields[field])
		if err == nil {
			fields[field], err = json.Marshal(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	for inner := range durations() {
		if name != "" || inner == "" || fields[inner] == nil {
			continue
		}
		raw, err := eachDuration(fields[inner], inner, write)
		if err != nil {
			return nil, err
		}
		fields[inner] = raw
	}
	return json.Marshal(fields)
}

// faultOrder is a fault as the control endpoint takes it.
type faultOrder struct {
	Kind    string            `json:"kind"`
	Path    string            `json:"path"`  // only requests for this path; empty for all
	Skip    int64             `json:"skip"`  // how many requests are served before
	Times   int64             `json:"times"` // how many requests; 0 for all
	Delay   string            `json:"delay"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	After   int               `json:"after"`
	URL     string            `json:"url"`
}

func (o *faultOrder) fault() (apisim.Fault, error) {
	kinds := map[string]apisim.FaultKind{
		"none": apisim.FaultNone, "status": apisim.FaultStatus, "hang": apisim.FaultHang, "cut": apisim.FaultCut,
		"drop": apisim.FaultDrop, "invalid-json": apisim.FaultInvalidJSON, "error-object": apisim.FaultErrorObject,
		"redirect": apisim.FaultRedirect,
	}
	kind, ok := kinds[o.Kind]
	if !ok {
		return apisim.Fault{}, fmt.Errorf("kind %q is not one of none, status, hang, cut, drop, invalid-json, error-object, redirect", o.Kind)
	}
	f := apisim.Fault{Kind: kind, Status: o.Status, Body: o.Body, After: o.After, URL: o.URL, Header: http.Header{}}
	if kind == apisim.FaultStatus && (o.Status < 200 || o.Status > 599) {
		return f, fmt.Errorf("status %d is not in 200..599", o.Status)
	}
	if kind == apisim.FaultRedirect && o.Status != 0 && (o.Status < 300 || o.Status > 399) {
		return f, fmt.Errorf("status %d is not in 300..399", o.Status)
	}
	for name, value := range o.Headers {
		f.Header.Set(name, value)
	}
	if o.Delay != "" {
		d, err := time.ParseDuration(o.Delay)
		if err != nil {
			return f, fmt.Errorf("delay: %w", err)
		}
		f.Delay = d
	}
	return f, nil
}

func (c *control) fault(w http.ResponseWriter, r *http.Request) {
	var order faultOrder
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = decode(body, &order)
	}
	var fault apisim.Fault
	if err == nil {
		fault, err = order.fault()
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var seen atomic.Int64
	c.sim.SetFault(func(r *http.Request) apisim.Fault {
		if order.Path != "" && r.URL.Path != order.Path {
			return apisim.Fault{}
		}
		n := seen.Add(1) - order.Skip
		if n <= 0 || order.Times > 0 && n > order.Times {
			return apisim.Fault{}
		}
		return fault
	})
	reply(w, order)
}

func (c *control) noFault(w http.ResponseWriter, _ *http.Request) {
	c.sim.SetFault(nil)
	reply(w, map[string]any{"kind": "none"})
}
