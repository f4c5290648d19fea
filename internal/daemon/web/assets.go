package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
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
