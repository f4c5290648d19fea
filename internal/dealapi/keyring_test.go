package dealapi

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestKeyIsRenewed rotates the key of a service: the first request that it refuses reads the new one and succeeds, as
// do others that were refused meanwhile. Neither key shows anywhere.
func TestKeyIsRenewed(t *testing.T) {
	const rotated = testKey + "New=" // begins with the other one: no half of it may stay
	var log bytes.Buffer
	var mu sync.Mutex
	file, valid, reads := testKey, testKey, 0
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if req.Header.Get("Authorization") != "Bearer "+valid {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"message":"no such key: %s, rather %s"}`, req.Header.Get("Authorization"), valid)
			return
		}
		fmt.Fprint(w, `{"id":1}`)
	}, func(o *Options) {
		o.MaxAttempts, o.Logger = 1, slog.New(slog.NewTextHandler(&log, nil))
		o.KeyAgain = func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if reads++; file == "" {
				return "", errors.New("cannot read the key file")
			}
			return file, nil
		}
	})
	get := func() error {
		_, err := r.Get(t.Context(), "/v1/deals/coupons/7", nil)
		return err
	}
	set := func(inFile, atService string) {
		mu.Lock()
		defer mu.Unlock()
		file, valid = inFile, atService
	}
	if err := get(); err != nil || reads != 0 {
		t.Fatalf("with a good key: %v, it was read %d times", err, reads)
	}
	set(testKey, rotated)
	err := get()
	wantKind(t, err, KindAuth)
	if r.KeyNumber() != 0 || reads != 1 {
		t.Errorf("key %d after %d reads", r.KeyNumber(), reads)
	}
	assertSecret(t, err.Error(), log.String())

	set("", rotated)
	wantKind(t, get(), KindAuth)
	set("broken key", rotated)
	wantKind(t, get(), KindAuth)
	if n := strings.Count(log.String(), "could not read the key again"); n != 2 || strings.Contains(log.String(), "broken key") {
		t.Errorf("said %d times:\n%s", n, log.String())
	}

	set(rotated, rotated)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := get(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if r.KeyNumber() != 1 {
		t.Errorf("it is key %d", r.KeyNumber())
	}
	set(rotated, testKey) // the service echoes both
	err = get()
	wantKind(t, err, KindAuth)
	assertSecret(t, err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%+v", r.Client), log.String())
	if text := err.Error() + log.String(); strings.Contains(text, "New=") {
		t.Errorf("the rest of a key shows: %s", text)
	}
	if !r.RenewKey(0) || r.RenewKey(1) {
		t.Error("the first key is in use, or the second one is not")
	}
}
