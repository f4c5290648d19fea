package enginetest

import (
	"fmt"
	"os"
	"time"
)

// keeperVariable is host:port of a ZooKeeper. If it is set, all tables of the tests that are not
// temporary are replicated there.
const keeperVariable = "TEST_KEEPER"

func keeper() string { return os.Getenv(keeperVariable) }

// ofThisProcess returns the prefix of the names of databases. With a ZooKeeper it differs in each process: there,
// replicated tables have a place under the name of their database, which stays when the process has ended.
func ofThisProcess() string {
	if keeper() == "" {
		return ""
	}
	return fmt.Sprintf("%d_%x_", os.Getpid(), started.Unix())
}

var started = time.Now()

// Cluster returns the cluster of the tests' warehouses, "" unless their tables are replicated.
func Cluster() string {
	if keeper() == "" {
		return ""
	}
	return "itself"
}
