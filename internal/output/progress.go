package main

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

const (
	redraw   = 100 * time.Millisecond
	logEvery = 10 * time.Second
)

// progress shows how far the runs of a sync are: one live line each on a terminal, else a log line now and then and
// one at the end of each run.
type progress struct {
	console *console
	log     *slog.Logger
	keep    bool // leave the lines on the screen at the end

	mu    sync.Mutex
	lines []*progressLine // in the order of the jobs
	end   chan struct{}
	ended sync.WaitGroup
}

type progressLine struct {
	syncer.Progress
	since   time.Time     // of the first row's request
	reading time.Duration // how long reading took, so far
	result  string        // what came of it, once it is done
}

func (l *progressLine) rate() float64 {
	if l.reading < 50*time.Millisecond {
		return 0
	}
	return float64(l.Totals.Read) / l.reading.Seconds()
}

// newProgress begins to show the jobs. end must be called.
func newProgress(c *console, log *slog.Logger, jobs []syncer.Job, keep bool) *progress {
	p := &progress{console: c, log: log, keep: keep, end: make(chan struct{})}
	for _, job := range jobs {
		p.lines = append(p.lines, &progressLine{Progress: syncer.Progress{Account: job.Account, Stream: job.Stream.Name}})
	}
	every, show := logEvery, p.logLines
	if c.live {
		every, show = redraw, p.drawLines
		p.drawLines()
	}
	p.ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-p.end:
				return
			case <-tick.C:
				show()
			}
		}
	})
	return p
}

// update is called often, from many goroutines: it only remembers.
func (p *progress) update(u syncer.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(u.Account, u.Stream)
	if l == nil {
		return
	}
	l.Progress = u
	if u.Phase == syncer.PhaseReading {
		if l.since.IsZero() {
			l.since = time.Now()
		}
		l.reading = time.Since(l.since)
	}
}

// finish shows how a run ended.
func (p *progress) finish(r syncer.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(r.Record.Account, r.Record.Stream)
	if l == nil {
		return
	}
	l.result = resultWords(r)
	if p.console.live {
		return
	}
	c, t := r.Record.Changes, r.Record.Totals
	p.log.Info("stream ended", "account", l.Account, "stream", l.Stream, "outcome", outcomeWord(r), "mode", r.Record.Mode,
		"read", t.Read, "inserted", c.Inserted, "updated", c.Updated, "deleted", c.Deleted, "unchanged", c.Unchanged,
		"rejected", t.Rejected, "pages", t.Pages, "seconds", runTime(r.Record).Seconds())
}

// stop ends the display. It may be called once.
func (p *progress) stop() {
	close(p.end)
	p.ended.Wait()
	if p.keep {
		p.drawLines()
		p.console.release()
		return
	}
	p.console.show(nil)
}

func (p *progress) line(account, stream string) *progressLine {
	for _, l := range p.lines {
		if l.Account == account && l.Stream == stream {
			return l
		}
	}
	return nil
}

func (p *progress) drawLines() {
	p.mu.Lock()
	wide := 0
	for _, l := range p.lines {
		wide = max(wide, len(l.Account)+1+len(l.Stream))
	}
	// Runs under way come first: where the terminal is short, they are the ones to see.
	var active, rest []string
	for _, l := range p.lines {
		text := fmt.Sprintf("%-*s  %s", wide, l.Account+" "+l.Stream, l.words())
		if _, height := p.console.size(); l.result == "" || height > len(p.lines) {
			active = append(active, text)
		} else {
			rest = append(rest, text)
		}
	}
	p.mu.Unlock()
	p.console.show(append(active, rest...))
}

// words are what a live line says after the name.
func (l *progressLine) words() string {
	phase := string(l.Phase)
	switch {
	case l.result != "":
		return l.result
	case phase == "":
		phase = "starting"
	}
	text := fmt.Sprintf("%-9s %10s rows %6s pages", phase, grouped(l.Totals.Read), grouped(l.Totals.Pages))
	if rate := l.rate(); rate > 0 {
		text += fmt.Sprintf(" %8s rows/s", grouped(uint64(rate)))
	}
	text += l.windowWords()
	return text
}

func (p *progress) logLines() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if l.result == "" && l.Phase != "" {
			p.log.Info("under way", append([]any{"account", l.Account, "stream", l.Stream, "phase", string(l.Phase),
				"rows", l.Totals.Read, "pages", l.Totals.Pages, "rows_per_second", uint64(l.rate())}, l.windowAttrs()...)...)
		}
	}
}

// resultWords say in a few words what came of a run.
func resultWords(r syncer.Result) string {
	if r.Err != nil {
		return outcomeWord(r)
	}
	c := r.Record.Changes
	var changes []string
	for _, part := range []struct {
		n    uint64
		what string
	}{{c.Inserted, "inserted"}, {c.Updated, "updated"}, {c.Deleted, "deleted"}} {
		if part.n > 0 {
			changes = append(changes, grouped(part.n)+" "+part.what)
		}
	}
	if len(changes) == 0 {
		changes = []string{"no change"}
	}
	text := fmt.Sprintf("%-9s %10s rows  ", "done", grouped(r.Record.Totals.Read)) + strings.Join(changes, ", ")
	if r.Record.Outcome == warehouse.OutcomeDryRun {
		text += " (dry run)"
	}
	return text
}

// runTime is how long a run took.
func runTime(r warehouse.RunRecord) time.Duration {
	if r.StartedAt.IsZero() || r.FinishedAt.IsZero() {
		return 0
	}
	return max(0, r.FinishedAt.Sub(r.StartedAt))
}
