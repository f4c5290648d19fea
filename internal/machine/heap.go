package machine

import (
	"os"
	"runtime/debug"
	"strconv"
)

// heapVariable is the variable of the Go runtime for the memory at which it collects garbage more often.
const heapVariable = "GOMEMLIMIT"

// LimitHeap lets garbage be collected more often before the memory that this process may use is full, unless the
// variable GOMEMLIMIT says when. The engine and the kernel need a tenth. It is set as that variable, since the
// processes that this one becomes or starts see less of the machine.
func LimitHeap() { limitHeap("/") }

// limitHeap is LimitHeap for a system whose files begin at root.
func limitHeap(root string) {
	allowed := memory(root)
	if os.Getenv(heapVariable) != "" || allowed == 0 {
		return
	}
	limit := allowed / 10 * 9
	debug.SetMemoryLimit(limit)
	_ = os.Setenv(heapVariable, strconv.FormatInt(limit, 10)) // fails for a name with = or a zero byte only
}
