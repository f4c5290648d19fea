package dealapi

import (
	"testing"

	"dealhouse/internal/catalog"
)

// The configuration documents these defaults, so a client that is given none has the same.
func TestDefaultsAreTheConfigured(t *testing.T) {
	var o Options
	o.setDefaults()
	if o.Timeout != catalog.DefaultTimeout || o.MaxBodyBytes != catalog.DefaultMaxBodyBytes ||
		o.MaxElapsed != catalog.DefaultMaxRetryElapsed || o.MaxAttempts != catalog.MaxAttempts {
		t.Errorf("%s, %d bytes, %s, %d attempts", o.Timeout, o.MaxBodyBytes, o.MaxElapsed, o.MaxAttempts)
	}
}
