package main

import (
	"context"
	"fmt"
	"strings"

	"dealhouse/internal/output"
	"dealhouse/internal/warehouse"
)

// checkSettings tries the settings that a run sends.
func checkSettings(ctx context.Context, w *warehouse.Warehouse) finding {
	err := w.TrySettings(ctx)
	switch {
	case err == nil:
		return finding{"settings", verdictOK, "the user may change the settings that runs depend on", exitOK}
	case warehouse.IsSettingRefused(err):
		return finding{"settings", verdictFailed,
			"the user may not change settings that runs depend on: remove the constraint, or give the user a profile that is not readonly: " + output.Message(err), exitUsage}
	}
	return finding{"settings", verdictFailed, output.Message(err), faultCode(err)}
}

// checkRights checks the rights that a run needs. With toMigrate, it also checks the rights of a migration.
func checkRights(ctx context.Context, w *warehouse.Warehouse, toMigrate bool) finding {
	missing, err := w.MissingGrants(ctx, warehouse.Loader)
	if err != nil {
		return finding{"rights", verdictFailed, output.Message(err), faultCode(err)}
	}
	if len(missing) > 0 {
		return finding{"rights", verdictFailed, "to load, the user lacks rights: " + strings.Join(missing, "; "), exitUsage}
	}
	if missing, err = w.MissingGrants(ctx, warehouse.Migrator); err != nil {
		return finding{"rights", verdictFailed, output.Message(err), faultCode(err)}
	}
	switch {
	case len(missing) == 0:
		return finding{"rights", verdictOK, "the user may load and migrate", exitOK}
	case toMigrate:
		return finding{"rights", verdictWarn, fmt.Sprintf("the user may load but not migrate: run dealhouse migrate as another user, or %s", strings.Join(missing, "; ")), exitOK}
	}
	return finding{"rights", verdictOK, "the user may load, but not migrate", exitOK}
}
