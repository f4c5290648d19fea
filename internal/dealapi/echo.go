package dealapi

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// echo finds the keys of a client in what is stored. Other texts are searched more deeply (scrubber), but are short:
// this runs over every page.
type echo struct {
	spellings [][]byte
}

func newEcho(keys ...string) (e echo) {
	for _, key := range keys {
		if len(fold(key)) < minFolded {
			continue
		}
		escaped, err := json.Marshal(key)
		if err != nil {
			escaped = []byte(key)
		}
		for _, v := range []string{key, strings.Trim(string(escaped), `"`), strings.ReplaceAll(key, "/", `\/`),
			url.QueryEscape(key), url.PathEscape(key)} {
			if !slices.ContainsFunc(e.spellings, func(s []byte) bool { return string(s) == v }) {
				e.spellings = append(e.spellings, []byte(v))
			}
		}
	}
	return e
}

// hide returns the data without the keys. Data that has none, which is nearly all, is returned as it is.
func (e echo) hide(data []byte) []byte {
	for _, s := range e.spellings {
		if bytes.Contains(data, s) {
			data = bytes.ReplaceAll(data, s, []byte(redacted))
		}
	}
	return data
}

// hide takes the client's own keys out of records that are going to be stored, and says so once (dealapi-2). A key of
// fewer than eight letters and digits is not looked for: it would be found in any text.
func (c *Client) hide(data []byte) []byte {
	hidden := c.keys.echoes.Load().hide(data)
	if len(hidden) != len(data) || len(data) > 0 && &hidden[0] != &data[0] {
		c.echoed.Do(func() {
			c.log.Warn("the API repeats the API key in its records: it is stored as " + redacted +
				"; ask the operators of the API not to send it, and replace the key")
		})
	}
	return hidden
}

// HasKey reports whether a text, such as a nextPage, shows a key of the client, so that it must not be stored.
func (c *Client) HasKey(text string) bool { return c.scrub().text(text) != text }
