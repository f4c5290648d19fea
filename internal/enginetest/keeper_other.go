//go:build !linux

package enginetest

import "errors"

// beReplica fails if the tests have a ZooKeeper: the engine is for Linux.
func beReplica() error {
	if keeper() == "" {
		return nil
	}
	return errors.New(keeperVariable + ": the engine is for Linux")
}
