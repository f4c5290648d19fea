package apisim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

// The digest is that of the answers before lists could move. A simulator without movement still serves the same bytes,
// in each order, while the world is changed by hand between two pages.
func TestStillListsAreServedAsEver(t *testing.T) {
	t.Parallel()
	answers := sha256.New()
	for _, order := range orders() {
		o := small()
		o.Settings.PageSize, o.Settings.Order = 7, order
		sim := newSim(t, o)
		for _, stream := range documented() {
			walkByHand(t, sim, stream, answers)
		}
	}
	const want = "c6a063f5d7896c6133e1515403c15040b5d98112bd16585e01a851779d2bbd8b"
	if got := hex.EncodeToString(answers.Sum(nil)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// walkByHand writes every answer of a walk, and changes the world between the pages. It deletes the cursor's item once,
// and then the walk starts over.
func walkByHand(t *testing.T, sim *apisim.Sim, stream string, answers io.Writer) {
	t.Helper()
	key, _ := sim.Keys("acme")
	query := url.Values{}
	for page := range 400 {
		r := httptest.NewRequest(http.MethodGet, paths()[stream]+"?"+query.Encode(), nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		fmt.Fprintln(answers, w.Code, w.Header().Get("Date"), w.Body.String())
		var next envelope
		if stream != apisim.StreamPayouts && w.Code == http.StatusOK {
			next = parse[envelope](t, w.Body.Bytes())
		}
		switch {
		case next.Cursor != nil:
			query.Set("cursor", *next.Cursor)
		case next.NextPage != nil:
			query.Set("page", text(next.NextPage))
		case w.Code == http.StatusOK:
			return
		default:
			query.Del("cursor")
		}
		switch page {
		case 2:
			sim.TouchTransactions("acme", 0.1)
		case 3:
			sim.Advance(26 * time.Hour)
		case 4:
			must(t, sim.Put(stream, "acme", []byte(`{"id":"`+uuidText(page)+`","updatedAt":"2026-03-01T00:00:00Z"}`)))
		case 5:
			if next.Cursor != nil {
				must(t, sim.Put(stream, "acme", []byte(`{"id":"`+*next.Cursor+`","updatedAt":"2026-03-14T00:00:00Z"}`)))
			}
		case 6:
			if next.Cursor != nil {
				must(t, sim.Delete(stream, "acme", *next.Cursor))
			}
		}
	}
	t.Fatalf("%s: no end of pages", stream)
}
