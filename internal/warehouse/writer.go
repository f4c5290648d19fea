package warehouse

// Writer writes for one run: it stages what the run reads, compares it with what is there, publishes the difference,
// and keeps the state of the stream. It is cheap to make.
type Writer struct {
	pool *pool
	Run
	script script
	filled []derived // the derived tables of which Prepare has made a delta
	lacked bool      // one of these deltas was filled by a second insert
}

// Writer writes for a run of a stream whose lease the caller holds.
func (w *Warehouse) Writer(r Run) *Writer { return w.At(r.Account).writer(r) }

func (p *pool) writer(r Run) *Writer { return &Writer{pool: p, Run: r, script: p.dialect.script(r)} }
