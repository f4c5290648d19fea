package warehouse

import "dealhouse/internal/chdb"

// selectKnownStreams lists the streams that were ever run.
const selectKnownStreams = "SELECT DISTINCT account, stream FROM sync_state_log ORDER BY account, stream"

// selectSchemaState selects the newest file that was applied, and the newest generation.
const selectSchemaState = "SELECT max(version), max(generation) FROM schema_migrations"

// backUpTo writes a database into a new folder of the backups.
func backUpTo(database, name string) string {
	return sql("BACKUP DATABASE `$database` TO Disk($disk, $name)", backupParts(database, name))
}

// restoreFrom makes a database of a folder of the backups.
func restoreFrom(database, name string) string {
	return sql("RESTORE DATABASE `$database` FROM Disk($disk, $name)", backupParts(database, name))
}

func backupParts(database, name string) parts {
	return parts{"database": database, "disk": quote(chdb.BackupDisk), "name": quote(name)}
}
