package enginetest

import (
	"fmt"
	"os"
	"time"
)

// keeperVariable is host:port of a ZooKeeper: with it, all tables of the tests that last are replicated there.
const keeperVariable = "TEST_KEEPER"

func keeper() string { return os.Getenv(keeperVariable) }

// ofThisProcess is how the names of databases begin where they must differ from those of other processes: replicated
// tables have a place under the name of their database, and this place outlives the process.
func ofThisProcess() string {
	if keeper() == "" {
		return ""
	}
	return fmt.Sprintf("%d_%x_", os.Getpid(), started.Unix())
}

var started = time.Now()

// Cluster is the cluster of the tests' warehouses: "" unless their tables are replicated.
func Cluster() string {
	if keeper() == "" {
		return ""
	}
	return "itself"
}
