package config

import (
	"slices"
	"strings"
)

// exampleWidth is the longest line of prose in the example, in characters.
const exampleWidth = 98

// docHeader is the beginning of config.example.toml. A line that begins with two spaces is kept as it is; the rest is
// wrapped.
const docHeader = `The configuration of dealhouse. Copy it to dealhouse.toml, fill in the account, and run ` +
	"`dealhouse check`" + `.

Lines that are commented out show the default, unless their comment says otherwise: remove the # to change it. Unknown keys are errors, and all mistakes are reported at once, with their lines.

The file is the one that --config names, else the one that DEALHOUSE_CONFIG names, else dealhouse.toml in the current directory. Relative paths are relative to the current directory.

An environment variable overrides any key: DEALHOUSE_ and the path of the key, in capitals, with _ for dots and dashes. An empty variable counts as not set; an unknown one is an error.
  [warehouse] dsn                                  DEALHOUSE_WAREHOUSE_DSN
  [defaults] timeout                               DEALHOUSE_DEFAULTS_TIMEOUT
  [[account]] "acme": api_key                      DEALHOUSE_ACCOUNT_ACME_API_KEY
  "acme" [account.streams.payouts] api_key         DEALHOUSE_ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY
If the file has no account, DEALHOUSE_BASE_URL and DEALHOUSE_API_KEY define one. Its name is DEALHOUSE_ACCOUNT, or "default".

Durations are a number with its unit, in quotes: "500ms", "30s", "10m", "24h".`

// exampleText is the text of config.example.toml: every key with its meaning, unit and default.
func exampleText() string {
	e := &exampleWriter{}
	e.comment(docHeader)
	e.section(nil, schema(), 0)
	return e.b.String()
}

type exampleWriter struct {
	b    strings.Builder
	done []string // texts that were written
}

func (e *exampleWriter) section(path []string, s section, above where) {
	if s.name != "" {
		e.b.WriteString("\n")
		if s.doc != "" {
			e.comment(s.doc)
		}
		if s.in != 0 {
			e.b.WriteString(commented(s) + title(path, s) + "\n")
		}
		path = append(slices.Clone(path), s.name)
	}
	for _, k := range keysIn(s) {
		// A key is shown in the outermost table that has it.
		if k.in&above == 0 && k.doc != "" {
			e.key(s, k)
		}
	}
	for _, child := range s.children {
		e.section(path, child, above|s.in)
		if !child.own {
			above |= child.in
		}
	}
}

// key explains a key once, and shows it each time.
func (e *exampleWriter) key(s section, k key) {
	if !slices.Contains(e.done, k.doc) {
		e.done = append(e.done, k.doc)
		e.b.WriteString("\n")
		e.comment(k.doc + exampleDefault(k))
	}
	switch {
	case s.fresh && k.example != "":
		e.b.WriteString(commented(s) + k.name + " = " + k.example + "\n")
	case s.fresh:
		e.b.WriteString(commented(s) + k.name + " = " + k.standard + "\n")
	case k.required:
		e.b.WriteString(k.name + " = " + k.example + "\n")
	case k.example != "":
		e.b.WriteString("# " + k.name + " = " + k.example + "\n")
	default:
		e.b.WriteString("# " + k.name + " = " + k.standard + "\n")
	}
}

// commented returns what the lines of a table begin with: a # if the table is not there by default.
func commented(s section) string {
	if s.fresh {
		return "#   "
	}
	return ""
}

// exampleDefault says what the default is if the line of the key does not.
func exampleDefault(k key) string {
	switch {
	case k.required:
		return " Required."
	case k.example == "":
		return ""
	case k.standard == "":
		return " Not set by default."
	default:
		return " Default: " + k.standard + "."
	}
}

// comment writes prose as comment lines.
func (e *exampleWriter) comment(text string) {
	var line string
	flush := func() {
		if line != "" {
			e.b.WriteString("# " + line + "\n")
			line = ""
		}
	}
	for paragraph := range strings.SplitSeq(text, "\n") {
		switch {
		case paragraph == "":
			flush()
			e.b.WriteString("#\n")
			continue
		case strings.HasPrefix(paragraph, "  "):
			flush()
			e.b.WriteString("# " + paragraph + "\n")
			continue
		}
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && len(line)+1+len(word) > exampleWidth {
				flush()
			}
			if line != "" {
				line += " "
			}
			line += word
		}
	}
	flush()
}
