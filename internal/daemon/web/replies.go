package web

import (
	"bytes"
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"time"

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
