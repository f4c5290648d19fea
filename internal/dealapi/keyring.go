package dealapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// rememberedKeys is how many keys a client removes from its texts: the one in use, and earlier ones, which requests
// under way may have sent.
const rememberedKeys = 4

// keyring is the key of a client, which may be replaced while requests are under way. It holds keys inside functions,
// where no %+v reaches them (dealapi-2).
type keyring struct {
	again func() (string, error) // reads the key again; nil: it never changes

	mu     sync.Mutex // held while the key is read again
	keys   func() []string
	use    atomic.Pointer[keyInUse]
	scrubs atomic.Pointer[scrubber]
	echoes atomic.Pointer[echo]
}

// keyInUse is a key, and how many there were before it.
type keyInUse struct {
	authorize func(http.Header)
	mark      func(salt string) string // see Client.Identity
	number    int
}

func newKeyring(key string, again func() (string, error)) *keyring {
	k := &keyring{again: again, keys: func() []string { return nil }}
	k.put(key)
	return k
}

// put makes a key the one in use. It is added to the scrubber before it is first sent.
func (k *keyring) put(key string) {
	keys := append([]string{key}, k.keys()...)
	keys = slices.Clip(keys[:min(len(keys), rememberedKeys)])
	k.keys = func() []string { return keys }
	scrub := newScrubber(keys...)
	k.scrubs.Store(&scrub)
	echoes := newEcho(keys...)
	k.echoes.Store(&echoes)
	number := 0
	if last := k.use.Load(); last != nil {
		number = last.number + 1
	}
	mark := func(salt string) string {
		sum := sha256.Sum256([]byte(salt + "\x00" + key))
		return hex.EncodeToString(sum[:3])
	}
	k.use.Store(&keyInUse{func(h http.Header) { h.Set("Authorization", "Bearer "+key) }, mark, number})
}

func (k *keyring) authorize(h http.Header) { k.use.Load().authorize(h) }

func (k *keyring) number() int { return k.use.Load().number }

// renew reads the key again, unless the key with this number is no longer in use. It reports whether it found another
// key. The error says why the key could not be read. It shows no key if the error of again shows none.
func (k *keyring) renew(number int) (found bool, err error) {
	if k.again == nil {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number() != number {
		return false, nil
	}
	key, err := k.again()
	if err == nil {
		err = validateKey(key)
	}
	if err != nil || key == k.keys()[0] {
		return false, err
	}
	k.put(key)
	return true, nil
}

// KeyNumber numbers the keys that the client has had: it grows when another one is read.
func (c *Client) KeyNumber() int { return c.keys.number() }

// RenewKey reads the key again from its source, unless the key with this number is no longer in use, and reports
// whether another one is in use now. A key that comes from no file stays. It is safe for concurrent use, and may take
// as long as the file takes to be read.
func (c *Client) RenewKey(number int) bool {
	found, err := c.keys.renew(number)
	switch {
	case err != nil:
		c.log.Warn("could not read the key again: using the previous one", "error", c.scrub().text(err.Error()))
	case found:
		c.log.Info("the service refused the key, but it has changed since: using the new one")
	}
	return c.keys.number() != number
}

// scrub returns the scrubber that removes the client's keys from its texts.
func (c *Client) scrub() scrubber { return *c.keys.scrubs.Load() }
