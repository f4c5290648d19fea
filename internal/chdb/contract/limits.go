package contract

import "time"

// Limits bound what the queries of an engine may take: each of them, and all together. No setting of a query lifts
// them. Zero values do not bound.
type Limits struct {
	QueryMemory int64 // bytes of one query
	Memory      int64 // bytes of all queries together
	// Time is how long one query may run.
	Time time.Duration
	// ResultBytes and ResultRows are how much one result may have, streamed ones too.
	ResultBytes, ResultRows int64
	// Threads are those that one query may use.
	Threads int
	// Disk is how many bytes of temporary files all queries together may write, for what does not fit into memory.
	Disk int64
}
