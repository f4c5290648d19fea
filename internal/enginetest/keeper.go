package enginetest

import (
	"fmt"
	"os"
	"time"
)

// keeperVariable is host:port of a ZooKeeper: with it, all tables of the tests that last are replicated there.
const keeperVariable = "TEST_KEEPER"

func keeper() string { return os.Getenv(keeperVariable) }

// ofThisProcess begins the names of databases where they must be unlike those of other processes: what is replicated
// has a place under the name of its database, which outlives the process.
func ofThisProcess() string {
	if keeper() == "" {
		return ""
	}
	return fmt.Sprintf("%d_%x_", os.Getpid(), started.Unix())
}

var started = time.Now()

// Cluster is the cluster of the tests' warehouses: "" but where their tables are replicated.
func Cluster() string {
	if keeper() == "" {
		return ""
	}
	return "itself"
}
