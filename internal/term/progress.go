package term

import (
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

const redraw = 100 * time.Millisecond

// Run names a run whose progress is shown.
type Run struct{ Account, Stream string }

// State is how far a run is.
type State struct {
	Run
	Phase       string // what it does now
	Reading     bool   // it reads rows now, at a rate that is worth showing
	Rows, Pages uint64
	Windows     Windows // of a backfill; zero for other runs
}

// Windows is how far a backfill is.
type Windows struct{ Total, Done, Earlier int } // Earlier are those done before this run began

// ProgressOptions of a Progress. Console and Logger must be given.
type ProgressOptions struct {
	Console *Console
	Logger  *slog.Logger
	Runs    []Run // in the order in which they are shown
	// Keep leaves the lines on the screen at the end, if no result is printed there.
	Keep bool
	// LimitedTo returns the rate, in requests per second, that limits an account's requests now; 0 if something else
	// does. It is called once a second. Default: nothing is known.
	LimitedTo func(account string) float64
}

// Progress shows how far runs are: one live line each on a terminal, else a log line now and then and one at the end of
// each run. It is safe for concurrent use.
type Progress struct {
	o     ProgressOptions
	begun time.Time

	mu      sync.Mutex
	lines   []*progressLine
	limited map[string]float64 // by account: what LimitedTo said last
	done    chan struct{}
	ended   sync.WaitGroup
}

type progressLine struct {
	State
	since   time.Time     // of the first row's request
	reading time.Duration // how long reading took, so far
	result  string        // its result, once it is done
}

// rate is in rows a second; 0 while it is not known.
func (l *progressLine) rate() float64 {
	if l.reading < 50*time.Millisecond {
		return 0
	}
	return float64(l.Rows) / l.reading.Seconds()
}

// NewProgress begins to show runs. Stop must be called.
func NewProgress(o ProgressOptions) *Progress {
	p := &Progress{o: o, begun: time.Now(), limited: map[string]float64{}, done: make(chan struct{})}
	if p.o.LimitedTo == nil {
		p.o.LimitedTo = func(string) float64 { return 0 }
	}
	for _, r := range o.Runs {
		p.lines = append(p.lines, &progressLine{State: State{Run: r}})
	}
	every, show := logEvery, p.logLines
	if o.Console.live {
		every, show = redraw, p.drawLines
		p.drawLines()
	}
	p.ended.Go(func() {
		tick, second := time.NewTicker(every), time.NewTicker(time.Second)
		defer tick.Stop()
		defer second.Stop()
		for {
			select {
			case <-p.done:
				return
			case <-second.C:
				p.measure()
			case <-tick.C:
				show()
			}
		}
	})
	return p
}

// Update is called often, from many goroutines: it only stores the state.
func (p *Progress) Update(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(s.Run)
	if l == nil {
		return
	}
	l.State = s
	if s.Reading {
		if l.since.IsZero() {
			l.since = time.Now()
		}
		l.reading = time.Since(l.since)
	}
}

// Finish shows how a run ended: in a few words on a terminal, else by a log line with attributes.
func (p *Progress) Finish(r Run, result string, attrs ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(r)
	if l == nil {
		return
	}
	l.result = result
	if !p.o.Console.live {
		p.o.Logger.Info("stream ended", append([]any{"account", l.Account, "stream", l.Stream}, attrs...)...)
	}
}

// Stop ends the display. It may be called once.
func (p *Progress) Stop() {
	close(p.done)
	p.ended.Wait()
	if p.o.Keep {
		p.drawLines()
		p.o.Console.Release()
		return
	}
	p.o.Console.Show(nil)
}

// measure asks what limits the accounts, often enough for the answer to be known when it is shown.
func (p *Progress) measure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.limited)
	for _, l := range p.lines {
		if _, asked := p.limited[l.Account]; l.result == "" && l.Reading && !asked {
			p.limited[l.Account] = p.o.LimitedTo(l.Account)
		}
	}
}

func (p *Progress) line(r Run) *progressLine {
	for _, l := range p.lines {
		if l.Run == r {
			return l
		}
	}
	return nil
}

// drawLines draws a line for each run, and one for all. If the terminal is short, runs under way and the line for all
// come first: they are the ones to see.
func (p *Progress) drawLines() {
	p.mu.Lock()
	wide := 0
	for _, l := range p.lines {
		wide = max(wide, len(l.Account)+1+len(l.Stream))
	}
	var first, rest []string
	_, height := p.o.Console.size()
	for _, l := range p.lines {
		text := fmt.Sprintf("%-*s  %s", wide, l.Account+" "+l.Stream, l.words())
		if l.result == "" || height > len(p.lines)+1 {
			first = append(first, text)
		} else {
			rest = append(rest, text)
		}
	}
	if text := p.wordsOfAll(); text != "" {
		first = append(first, text)
	}
	p.mu.Unlock()
	p.o.Console.Show(append(first, rest...))
}

// wordsOfAll returns how long the runs have taken so far, and what limits them. In the first second it returns nothing.
func (p *Progress) wordsOfAll() string {
	elapsed := time.Since(p.begun).Truncate(time.Second)
	if elapsed == 0 {
		return ""
	}
	text := elapsed.String() + " elapsed"
	told := map[string]bool{}
	for _, l := range p.lines {
		if rate := p.limited[l.Account]; rate > 0 && l.result == "" && !told[l.Account] {
			told[l.Account] = true
			text += ", " + l.Account + " limited to " + requestRate(rate)
		}
	}
	return text
}

func requestRate(perSecond float64) string {
	return strconv.FormatFloat(perSecond, 'g', 3, 64) + " requests/s"
}

// words returns what a live line says after the name.
func (l *progressLine) words() string {
	phase := l.Phase
	switch {
	case l.result != "":
		return l.result
	case phase == "":
		phase = "starting"
	}
	text := fmt.Sprintf("%-9s %10s rows %6s pages", phase, Count(l.Rows), Count(l.Pages))
	if rate := l.rate(); rate > 0 {
		text += fmt.Sprintf(" %8s rows/s", Count(uint64(rate)))
	}
	return text + l.windowWords()
}

func (p *Progress) logLines() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if l.result != "" || l.Phase == "" {
			continue
		}
		attrs := []any{"account", l.Account, "stream", l.Stream, "phase", l.Phase, "rows", l.Rows, "pages", l.Pages,
			"rows_per_second", uint64(l.rate()),
			"seconds", int(time.Since(p.begun).Seconds())}
		if rate := p.limited[l.Account]; rate > 0 && l.Reading {
			attrs = append(attrs, "limited_to", requestRate(rate))
		}
		p.o.Logger.Info("under way", append(attrs, l.windowAttrs()...)...)
	}
}

// windowWords returns how far a backfill is; nothing for other runs.
func (l *progressLine) windowWords() string {
	if l.Windows.Total == 0 {
		return ""
	}
	text := fmt.Sprintf(" %3d %%", 100*l.Windows.Done/l.Windows.Total)
	if left, known := l.timeLeft(); known {
		text += ", " + Span(left) + " left"
	}
	return text
}

// windowAttrs returns the same for a log line.
func (l *progressLine) windowAttrs() []any {
	if l.Windows.Total == 0 {
		return nil
	}
	attrs := []any{"percent", 100 * l.Windows.Done / l.Windows.Total, "windows", l.Windows.Total, "windows_done",
		l.Windows.Done}
	if left, known := l.timeLeft(); known {
		attrs = append(attrs, "seconds_left", int(left.Seconds()))
	}
	return attrs
}

// timeLeft estimates the time that is left. It assumes that each window takes as long as those that were read.
func (l *progressLine) timeLeft() (left time.Duration, known bool) {
	read := l.Windows.Done - l.Windows.Earlier
	if read <= 0 || l.reading <= 0 {
		return 0, false
	}
	each := l.reading.Seconds() / float64(read)
	return time.Duration(each * float64(l.Windows.Total-l.Windows.Done) * float64(time.Second)), true
}
