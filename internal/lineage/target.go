package lineage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

// errFull says that an event was not even tried.
var errFull = errors.New("too many events wait for the receiver")

// target takes events. An error says whether it may help to send the event again.
type target interface {
	send(ctx context.Context, text []byte) (again bool, err error)
	name() string
}

func newTarget(o Options) target {
	if o.File != "" {
		return file(o.File)
	}
	return &receiver{url: o.URL, key: o.Key, client: &http.Client{
		// The other address would get the key (lineage-3).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// receiver is an address to which events are posted.
type receiver struct {
	url, key string
	client   *http.Client
}

func (r *receiver) name() string { return r.url }

func (r *receiver) send(ctx context.Context, text []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		request.Header.Set("Authorization", "Bearer "+r.key)
	}
	response, err := r.client.Do(request)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return true, err
	}
	defer response.Body.Close()
	const enough = 64 << 10 // to use the connection again
	_, _ = io.CopyN(io.Discard, response.Body, enough)
	switch code := response.StatusCode; {
	case code < http.StatusMultipleChoices:
		return false, nil
	default:
		again = code >= http.StatusInternalServerError || code == http.StatusTooManyRequests ||
			code == http.StatusRequestTimeout
		return again, fmt.Errorf("the receiver answered with status %d", code)
	}
}

// file takes events as lines. It is opened for each of them, so that it may be moved away at any time.
type file string

func (f file) name() string { return string(f) }

func (f file) send(_ context.Context, text []byte) (again bool, err error) {
	to, err := os.OpenFile(string(f), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, fmt.Errorf("opening the file of OpenLineage events: %w", err)
	}
	_, err = to.Write(text) // in one piece: others may append too
	if err = errors.Join(err, to.Close()); err != nil {
		return false, fmt.Errorf("writing an OpenLineage event: %w", err)
	}
	return false, nil
}
