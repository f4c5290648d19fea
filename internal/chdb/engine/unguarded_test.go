package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/library"
)

// openUsersXML forbids nothing: readers and writers have all rights, over files and the network too.
const openUsersXML = `<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <roles>
    <writer><grants><query>GRANT ALL ON *.*</query></grants></writer>
    <reader><grants><query>GRANT ALL ON *.*</query></grants></reader>
  </roles>
  <users>
    <default>
      <password/>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants><query>GRANT ALL ON *.*</query></grants>
    </default>
  </users>
</clickhouse>
`

// openConfigXML lets the engine reach everything that the process can reach.
const openConfigXML = `<clickhouse>
  <users_config>%s</users_config>
  <user_files_path>/</user_files_path>
  <user_scripts_path>/</user_scripts_path>
  <logger><level>none</level><console>false</console></logger>
</clickhouse>
`

// writeOpenConfig does for OpenUnguarded what writeConfig does for Open.
func writeOpenConfig(dir string, _ contract.Options) (string, error) {
	conf := filepath.Join(dir, "engine")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		return "", err
	}
	users, mainFile := filepath.Join(conf, "users.xml"), filepath.Join(conf, "config.xml")
	if err := library.ReplaceFile(users, []byte(openUsersXML)); err != nil {
		return "", err
	}
	return mainFile, library.ReplaceFile(mainFile, fmt.Appendf(nil, openConfigXML, escapeXML(users)))
}
