package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/term"
)

// replies writes answers: pages, JSON, static files and refusals.
type replies struct {
	log    *slog.Logger
	assets assets
	files  map[string][]byte // static files by their address
	pages  map[string]*template.Template
}

func newReplies(log *slog.Logger) (*replies, error) {
	assets, files, err := readAssets()
	if err != nil {
		return nil, err
	}
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	return &replies{log: log, assets: assets, files: files, pages: pages}, nil
}

func (out *replies) static(w http.ResponseWriter, r *http.Request) {
	content, ok := out.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(r.URL.Path)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// render answers with a complete page, or with an error.
func (out *replies) render(w http.ResponseWriter, name string, p page) {
	var b bytes.Buffer
	if err := out.pages[name].ExecuteTemplate(&b, "layout", p); err != nil {
		out.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // it is no error if the viewer has left
}

func (out *replies) writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		out.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(term.JSON(text), '\n')) // it is no error if the viewer has left
}

// refuse answers with an error as JSON.
func (out *replies) refuse(w http.ResponseWriter, status int, err error) {
	out.writeJSON(w, status, map[string]string{"error": err.Error()})
}

// fail answers with an internal error. The reason is only logged.
func (out *replies) fail(w http.ResponseWriter, err error) {
	out.log.Error("could not render a page", "error", err)
	http.Error(w, "internal error: the log has the reason", http.StatusInternalServerError)
}

func (out *replies) newPage(o *overview, path, title string, body any) page {
	p := page{Title: title, Nav: navAt(path), Refresh: refreshIdle, AsOf: o.localMoment(o.local),
		Problem: explain(o.problem), Refused: o.refused, Assets: out.assets, Body: body}
	p.State, p.Summary = o.verdict()
	for _, st := range o.streams {
		if st.Running != nil {
			p.Refresh = refreshRunning
		}
	}
	return p
}

// page has what every page needs.
type page struct {
	Title   string
	Nav     []navItem
	Refresh int // milliseconds until a live page is loaded again
	State   state
	Summary string
	AsOf    moment
	Problem string  // why the warehouse does not answer
	Refused string  // why the newest configuration is not in force
	Target  string  // where the summary leads; "": nowhere
	Said    *notice // the result of an action; nil: none
	Assets  assets
	Body    any
}

// navItem is an entry of the navigation: a page of its own is one entry, one route and one template.
type navItem struct {
	Path, Name string
	Here       bool
}

var navigation = []navItem{{Path: "/", Name: "Status"}, {Path: timelinePage, Name: "Timeline"},
	{Path: "/payouts", Name: "Payouts"}, {Path: actionsPage, Name: "Actions"}}

// navAt returns the navigation as the page at a path shows it.
func navAt(path string) []navItem {
	var nav []navItem
	for _, item := range navigation {
		item.Here = item.Path == path
		nav = append(nav, item)
	}
	return nav
}

const (
	refreshRunning = 1500 // a run is under way: its progress changes
	refreshIdle    = 5000
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// assets has the address of each static file by its name. The address contains a hash of the content, so that browsers
// may keep the file forever, and load a new one at once.
type assets map[string]string

// Version returns a text that differs between binaries whose pages need different assets.
func (a assets) Version() string {
	sum := sha256.New()
	for _, name := range []string{"live.js", "style.css", "icon.svg"} {
		_, _ = sum.Write([]byte(a[name])) // writing to a hash cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// readAssets returns the addresses of the static files, and their contents by address.
func readAssets() (assets, map[string][]byte, error) {
	names, files := assets{}, map[string][]byte{}
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the static files: %w", err)
	}
	for _, e := range entries {
		content, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, nil, fmt.Errorf("reading the static files: %w", err)
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(e.Name())
		address := "/static/" + strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		names[e.Name()], files[address] = address, content
	}
	return names, files, nil
}

// contentTypes are fixed here, because browsers are told not to guess, and the system's table of types may lack them.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// parsePages parses the template of each page together with the parts that all pages have.
func parsePages() (map[string]*template.Template, error) {
	pages := map[string]*template.Template{}
	for _, name := range []string{"status.html", "stream.html", "payouts.html", "payout.html", "statement.html",
		"figure.html", "actions.html", "timeline.html"} {
		t, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name)
		if err != nil {
			return nil, fmt.Errorf("parsing the page %s: %w", name, err)
		}
		pages[name] = t
	}
	return pages, nil
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // it is no error if the viewer has left
}

// notice is what a page says about an action.
type notice struct {
	Text string
	Bad  bool
}

// said keeps the results of actions from pages, to be shown on the next page.
type said struct {
	mu    sync.Mutex
	texts map[string]notice
	order []string
}

func (s *said) add(n notice) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]notice{}
	}
	if len(s.order) == mostSaid {
		delete(s.texts, s.order[0])
		s.order = s.order[1:]
	}
	id = uuid.NewString()
	s.texts[id], s.order = n, append(s.order, id)
	return id
}

// to returns the notice for a request of a page, nil if there is none.
func (s *said) to(r *http.Request) *notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.texts[r.URL.Query().Get("said")]; ok {
		return &n
	}
	return nil
}

// mostSaid is how many notices are remembered.
const mostSaid = 64

// parameters returns the parameters of the address. It refuses unknown names, so that a misspelt one is noticed,
// and names that come twice.
func parameters(r *http.Request, names ...string) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the parameters cannot be read: %w", err)
	}
	for name, values := range query {
		switch {
		case len(names) == 0:
			return nil, fmt.Errorf("%q: there are no parameters here", name)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("%q: there is no such parameter: there are %s", name, strings.Join(names, ", "))
		case len(values) > 1:
			return nil, fmt.Errorf("%s: given twice", name)
		}
	}
	return query, nil
}

func timeJSON(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := rfc3339(t)
	return &text
}

func pointedJSON(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return timeJSON(*t)
}

// about describes the daemon itself. Something unknown is "".
type about struct{ Version, Up, Memory, Disk string }

const (
	timelinePage = "/timeline"
	dayLayout    = "2006-01-02"
)

// The addresses that actions are sent to: by programs, and by the forms of the pages.
const (
	actionsAPI  = "/api/v1/actions"
	actionsPage = "/actions"
)
