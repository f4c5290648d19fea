package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// selectServer asks a server what it is: its version, its time zone, whether it is Cloud, the engine of the database,
// how many of the permanent tables are not replicated, and how many are.
const selectServer = `SELECT version(), timezone(),
    toBool((SELECT count() FROM system.settings WHERE name = 'cloud_mode' AND value = '1')),
    (SELECT any(engine) FROM system.databases WHERE name = {database:String}),
    (SELECT count() FROM system.tables
    WHERE database = {database:String} AND match(name, '_(latest|versions|log)$')
        AND NOT startsWith(engine, 'Replicated') AND match(engine, 'MergeTree')),
    (SELECT count() FROM system.tables WHERE database = {database:String} AND match(name, '_(latest|versions|log)$') AND startsWith(engine, 'Replicated'))`

// selectServerID asks which of several servers answers.
const selectServerID = "SELECT toString(serverUUID())"

// selectCluster asks how many shards a cluster has, what other clusters there are, which macros the server has, and how
// many replicas its shard has; 0 if it does not find itself.
const selectCluster = `SELECT (SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String}),
    (SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters), (SELECT groupArray(macro) FROM system.macros),
    ` + replicasOfShard

// replicasOfShard counts the replicas of the shard that the server is in.
const replicasOfShard = `(SELECT count() FROM system.clusters
    WHERE cluster = {cluster:String}
        AND shard_num IN (SELECT shard_num FROM system.clusters WHERE cluster = {cluster:String} AND is_local))`

// selectShard asks a server for the number of its shard; 0: it does not find itself in the cluster, or in several
// shards.
const selectShard = `SELECT if(uniqExact(shard_num) = 1, toUInt64(any(shard_num)), 0) FROM system.clusters WHERE cluster = {cluster:String} AND is_local`

// selectAccounts lists the accounts that have anything.
const selectAccounts = "SELECT DISTINCT toString(account) FROM sync_state_log"

// selectAccountsOf lists the accounts that have anything of a stream. Parameter: stream.
func selectAccountsOf(s *catalog.Stream) string {
	return sql(`SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM $latest
)
ORDER BY account`, parts{"latest": latestTable(s)})
}

// checkGrant asks whether the user has a right.
func checkGrant(right, on string) string {
	return sql("CHECK GRANT $right ON $on", parts{"right": right, "on": on})
}

// giveRights gives rights to the user who asks.
func giveRights(rights []string, on string) string {
	return sql("GRANT $rights ON $on TO CURRENT_USER", parts{"rights": joinedRights(rights), "on": on})
}

// trySettings is a statement that does nothing, to be sent with the settings of those that write.
const trySettings = "SELECT 1"

// syncReplica waits until a replica has what the others had when it was asked.
func syncReplica(table string) string {
	return sql("SYSTEM SYNC REPLICA $table LIGHTWEIGHT", parts{"table": table})
}

// joinedRights are rights as a GRANT lists them.
func joinedRights(rights []string) string { return strings.Join(rights, ", ") }
