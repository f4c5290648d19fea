package dealapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzChain walks lists whose pages lead anywhere. links has two bytes for each page: how many records it has, and
// which token it leads to. The walk follows each token once, ends where it must, and does not continue after an error.
func FuzzChain(f *testing.F) {
	f.Add("a\nb\nc", []byte{1, 1, 1, 2, 1, 3, 1, 0}, false)            // to the end
	f.Add("a\nb", []byte{1, 1, 1, 2, 1, 1}, true)                      // a loop of two
	f.Add("a", []byte{0, 1, 0, 1}, false)                              // to itself, empty
	f.Add("1\n2\n3\n4\n5", []byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5}, true) // empty pages without end
	f.Add("/v2/products?page=2\n?page=3\nhttps://evil.example/", []byte{1, 1, 1, 2, 1, 3}, true)
	f.Add("\u00e9\"\\\n\x00\n ", []byte{1, 1, 1, 2, 1, 3, 2, 0}, false)
	c, err := New(Options{Account: "acme", BaseURL: "https://api.example.com/base", Key: testKey})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, links []byte, nextPages bool) {
		q := Query{Path: "/v2/products"}
		if nextPages {
			q.Paging = PagingNextPage
		}
		tokens := append([]string{""}, strings.Split(text, "\n")...)
		ch, err := c.newChain(q)
		if err != nil {
			t.Fatal(err)
		}
		seen, token := map[string]bool{}, ""
		for number := 1; ; number++ {
			if number > len(tokens)+1 {
				t.Fatalf("page %d of a list that has %d tokens", number, len(tokens))
			}
			if ch.target == nil || !sameOrigin(ch.target, c.base) || ch.token != token {
				t.Fatalf("page %d: %q at %v, want %q", number, ch.token, ch.target, token)
			}
			records, next := 0, ""
			if at := 2 * (number - 1); at+1 < len(links) {
				records, next = int(links[at])%4, tokens[int(links[at+1])%len(tokens)]
			}
			page, wanted := readPage(t, ch.shape, records, next)
			err := ch.advance(page)
			switch kind := kindOf(t, err); {
			case wanted == "":
				if err != nil || ch.target != nil {
					t.Fatalf("page %d, the last: %v, %v", number, err, ch.target)
				}
				return
			case seen[wanted] && kind != KindLoop && kind != KindRedirect, !seen[wanted] && kind == KindLoop:
				t.Fatalf("token %q, seen %t: %v", wanted, seen[wanted], err)
			case kind == KindRedirect && !nextPages:
				t.Fatalf("a cursor is no URL: %v", err)
			case err != nil:
				if ch.target != nil {
					t.Fatalf("after %v the walk would go on to %s", err, ch.target)
				}
				return
			}
			seen[wanted], token = true, wanted
		}
	})
}

// readPage scans the page that a service would send, and returns the token as JSON carries it.
func readPage(t *testing.T, sh shape, records int, next string) (*Page, string) {
	t.Helper()
	quoted, err := json.Marshal(next)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"data":[%s],%q:%s}`, strings.TrimSuffix(strings.Repeat("{},", records), ","), sh.nextKey, quoted)
	found, err := sh.scan([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var wanted string
	if err := json.Unmarshal(quoted, &wanted); err != nil {
		t.Fatal(err)
	}
	if found.next != wanted || countElements(found.data) != records {
		t.Fatalf("%s: next %q, %d records", body, found.next, countElements(found.data))
	}
	return &Page{Data: found.data, Next: found.next}, wanted
}

func kindOf(t *testing.T, err error) Kind {
	t.Helper()
	if err == nil {
		return 0
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	return e.Kind
}
