package library

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// progress tells how far a download is. The percentage never goes down, whatever numbers arrive.
type progress struct {
	size int64             // bytes of the tarball
	tell func(percent int) // or nil

	mu    sync.Mutex
	told  bool
	least int // percent
}

// fetching is the share of the download in the whole, in percent; the rest is unpacking.
const fetching = 60

// downloaded takes how many bytes of the tarball have arrived so far.
func (p *progress) downloaded(bytes int64) { p.reached(0, fetching, bytes) }

// unpacked takes how many bytes of the tarball are unpacked so far.
func (p *progress) unpacked(bytes int64) { p.reached(fetching, 100-fetching, bytes) }

func (p *progress) reached(from, share int, bytes int64) {
	if p.tell == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := from
	if p.size > 0 {
		percent += int(min(bytes, p.size) * int64(share) / p.size)
	}
	if p.told && percent <= p.least {
		return
	}
	p.told, p.least = true, percent
	p.tell(percent)
}

// counter reports how many bytes have been read so far.
type counter struct {
	r     io.Reader
	n     int64
	count func(bytes int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.count(c.n)
	return n, err
}

// glance is the time between two looks at a download.
const glance = 250 * time.Millisecond

// watch reports again and again, until ctx ends, how many bytes are in the files of a folder that were written after
// since. npm itself does not report its progress, but keeps what has arrived in the temporary folder of its cache.
// Another npm that downloads at the same time counts too: the figure is for people.
func watch(ctx context.Context, folder string, since time.Time, came func(bytes int64)) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			came(writtenSince(folder, since))
		}
	}
}

func writtenSince(folder string, since time.Time) (bytes int64) {
	// Files that cannot be read are not counted.
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go
		}
		if info, err := d.Info(); err == nil && !info.ModTime().Before(since) {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
