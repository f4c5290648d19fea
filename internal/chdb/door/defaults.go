package door

import (
	"log/slog"
	"time"

	"dealhouse/internal/chdb/contract"
)

// withDefaults replaces zero values by the defaults; log is the engine's logger.
func withDefaults(o contract.HandlerOptions, log *slog.Logger) contract.HandlerOptions {
	if o.MaxQueryBytes <= 0 {
		o.MaxQueryBytes = 4 << 20
	}
	if o.MaxBufferedBytes <= 0 {
		o.MaxBufferedBytes = 256 << 20
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 5 * time.Second
	}
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	if o.MinRate <= 0 {
		o.MinRate = 16 << 10
	}
	if o.Logger == nil {
		o.Logger = log
	}
	if o.User == "" && o.Password != "" {
		o.User = "default"
	}
	return o
}
