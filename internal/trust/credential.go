package trust

import (
	"crypto/sha256"
	"crypto/subtle"
)

// Login is a user and a password.
type Login struct{ User, Password string }

// Matches reports whether both are the same. It takes the same time whatever is wrong.
func (l Login) Matches(given Login) bool {
	return equal(l.User, given.User)&equal(l.Password, given.Password) == 1
}

// equal compares hashes, so that its time does not depend even on the length.
func equal(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}
