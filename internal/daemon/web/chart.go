package web

import (
	"dealhouse/internal/term"
	"regexp"
	"strings"
)

var (
	operation = regexp.MustCompile(`\b(list|get) /\S*: `)
	requested = regexp.MustCompile(` \[GET [^\]]*\]`)
	count     = regexp.MustCompile(`\d+`)
)

// plain returns an error without the parts that differ between the streams of an account.
func plain(text, account string) string {
	text = strings.TrimPrefix(text, "account "+account+": ")
	return requested.ReplaceAllString(operation.ReplaceAllString(text, ""), "")
}

// essence returns the part of an error by which two errors count as equal.
func essence(text, account, stream string) string {
	text = plain(text, account)
	for _, name := range []string{stream, term.Spaced(stream), strings.ReplaceAll(stream, "_", "-")} {
		text = strings.ReplaceAll(text, name, "")
	}
	return count.ReplaceAllString(text, "0")
}
