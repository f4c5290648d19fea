package contract

import "time"

// Limits bound what each query of an engine may take, and what all of them together may take. No setting of a query
// raises them. A limit of zero means no limit.
type Limits struct {
	QueryMemory int64 // bytes of one query
	Memory      int64 // bytes of all queries together
	// Time is how long one query may run.
	Time time.Duration
	// ResultBytes and ResultRows are the largest size of one result, even of a streamed one.
	ResultBytes, ResultRows int64
	// Threads is how many threads one query may use.
	Threads int
	// Disk is how many bytes of temporary files all queries together may write, for what does not fit into memory.
	Disk int64
}
