package engine

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
)

// The engine has one user. What it may do depends on the role that a
// connection has switched to: writers keep both, readers only the second.
//
// SOURCES is the family of rights for file(), url(), s3(), remote() and the like: nobody has them (chdb-8). CREATE
// TEMPORARY TABLE, which readers lack, is what executable(), dictionary(), loop() and others ask for (chdb-7). SYSTEM
// SHUTDOWN would end the process that the engine lives in. A view with SQL SECURITY NONE requires no rights at all of
// its readers. The source of a dictionary may be a command, and the source of a table may be a file or an address. No
// right over SOURCES covers these, so dictionaries are forbidden and table engines have a list.
const usersXML = `<clickhouse>
  <profiles>
    <default>
%s      <constraints>
%s      </constraints>
    </default>
  </profiles>
  <quotas><default/></quotas>
  <roles>
    <writer>
      <grants>
        <query>GRANT ALL ON *.*</query>
        <query>REVOKE SOURCES ON *.*</query>
        <query>REVOKE SYSTEM SHUTDOWN ON *.*</query>
        <query>REVOKE ALLOW SQL SECURITY NONE ON *.*</query>
        <query>REVOKE CREATE DICTIONARY ON *.*</query>
        <query>REVOKE NAMED COLLECTION ADMIN ON *</query>
        <query>REVOKE TABLE ENGINE ON *</query>
%s      </grants>
    </writer>
    <reader>
      <grants><query>GRANT SELECT, SHOW, dictGet ON *.*</query></grants>
    </reader>
  </roles>
  <users>
    <default>
      <password/>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants>
        <query>GRANT writer</query>
        <query>GRANT reader</query>
      </grants>
    </default>
  </users>
</clickhouse>
`

// frozenSettings returns the settings that nobody may change, not even the program: all that the list refuses, except
// the few that this package sets itself. Some of them make the engine accept another language, or read a text as SQL,
// or they name files and addresses. So they would bypass the checks of the doors (chdb-7, chdb-8).
func frozenSettings() []string {
	var names []string
	for _, e := range allow.All().Settings {
		if e.Sign == '-' && e.Name != "readonly" && e.Name != guard.ValuesInterpret && e.Name != guard.ValuesTemplates {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// tableEngines are those that writers may use: they use only the data directory, or the cluster that the
// engine is configured for.
var tableEngines = []string{
	"AggregatingMergeTree", "Alias", "Atomic", "Buffer", "CoalescingMergeTree", "CollapsingMergeTree", "Dictionary",
	"Distributed",
	"GenerateRandom", "GraphiteMergeTree", "Join", "KeeperMap", "Log", "MaterializedView", "Memory", "Merge", "MergeTree",
	"Null",
	"ReplacingMergeTree", "ReplicatedAggregatingMergeTree", "ReplicatedCoalescingMergeTree",
	"ReplicatedCollapsingMergeTree",
	"ReplicatedGraphiteMergeTree", "ReplicatedMergeTree", "ReplicatedReplacingMergeTree", "ReplicatedSummingMergeTree",
	"ReplicatedVersionedCollapsingMergeTree", "Replicated", "Set", "StripeLog", "SummingMergeTree", "TimeSeries",
	"TinyLog",
	"VersionedCollapsingMergeTree", "View",
}

// configXML has the path of the file with usersXML. It must be absolute, because the engine resolves a relative one
// against the working directory. The scripts directory never exists. The display name is what displayName()
// returns; without it, that would be the name of the host. Backups are written to one folder in the data directory,
// and restored from there. Files that merges have replaced are removed at once: a process that runs for seconds would
// else leave them all, and the next one too.
const configXML = `<clickhouse>
  <users_config>%[1]s</users_config>
  <user_scripts_path>%[2]s</user_scripts_path>
  <display_name>chdb</display_name>
  <storage_configuration><disks><%[3]s><type>local</type><path>%[4]s/</path></%[3]s></disks></storage_configuration>
  <backups><allowed_disk>%[3]s</allowed_disk></backups>
  <merge_tree>
    <cleanup_delay_period>1</cleanup_delay_period>
    <cleanup_delay_period_random_add>0</cleanup_delay_period_random_add>
    <max_cleanup_delay_period>5</max_cleanup_delay_period>
  </merge_tree>
%[5]s  <logger><level>none</level><console>false</console></logger>
</clickhouse>
`

// ownCluster returns the configuration of a cluster in which every shard is the engine itself, and the setting that
// goes with it in the profile. The port is only a name here: nobody listens on it, and the engine notices that it
// would connect to itself.
func ownCluster(shards int) (cluster, profile string) {
	if shards == 0 {
		return "", ""
	}
	shard := "      <shard><replica><host>localhost</host><port>9000</port></replica></shard>\n"
	return "  <tcp_port>9000</tcp_port>\n  <remote_servers><" + contract.OwnCluster + ">\n" +
			strings.Repeat(shard, shards) + "  </" + contract.OwnCluster + "></remote_servers>\n",
		"      <distributed_product_mode>global</distributed_product_mode>\n"
}

// fewRows is a part of the profile that makes statements over few rows cheap: no expression is compiled, and no second
// thread is woken for rows that the first one has read by then.
const fewRows = `      <max_threads>1</max_threads>
      <local_filesystem_read_method>pread</local_filesystem_read_method>
      <compile_expressions>0</compile_expressions>
      <compile_aggregate_expressions>0</compile_aggregate_expressions>
      <compile_sort_description>0</compile_sort_description>
`

// keeper returns the configuration that replicated tables need, or "" if address is empty.
func keeper(address string) string {
	host, port, found := strings.Cut(address, ":")
	if !found {
		return ""
	}
	return "  <zookeeper><node><host>" + escapeXML(host) + "</host><port>" + escapeXML(port) +
		"</port></node></zookeeper>\n" +
		"  <macros><shard>1</shard><replica>one</replica></macros>\n"
}

// writeConfig writes the engine's configuration below dir and returns the path of its main file.
func writeConfig(dir string, o contract.Options) (string, error) {
	conf := filepath.Join(dir, "engine")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		return "", err
	}
	users := filepath.Join(conf, "users.xml")
	mainFile := filepath.Join(conf, "config.xml")
	cluster, profile := ownCluster(o.Shards)
	if o.FewRows {
		profile += fewRows
	}
	var frozen strings.Builder
	for _, name := range frozenSettings() {
		if o.LimitReaders && isFixedLimit(name) { // the profile of readers has it
			continue
		}
		fmt.Fprintf(&frozen, "        <%[1]s><const/></%[1]s>\n", name)
	}
	var engines strings.Builder
	for _, name := range tableEngines {
		fmt.Fprintf(&engines, "        <query>GRANT TABLE ENGINE ON %s</query>\n", name)
	}
	if err := library.ReplaceFile(users, fmt.Appendf(nil, usersXML, profile, frozen.String(),
		engines.String())); err != nil {
		return "", err
	}
	text := fmt.Sprintf(configXML, escapeXML(users), escapeXML(filepath.Join(conf, "no-scripts")), contract.BackupDisk,
		escapeXML(contract.BackupFolder(dir)), cluster+keeper(o.Keeper))
	return mainFile, library.ReplaceFile(mainFile, []byte(text))
}

func escapeXML(s string) string {
	var b bytes.Buffer
	// A bytes.Buffer never fails.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
