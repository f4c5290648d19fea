package syncer

import (
	"context"

	"dealhouse/internal/decode"
)

// insertsAtOnce is how many batches of a list are inserted at once. A single insert leaves cores idle, because its data
// is sent, parsed, sorted and written in turn. More than two would only need more memory.
const insertsAtOnce = 2

// inserts returns how many batches may be inserted at once.
func (r *pageReader) inserts() int {
	if r.insert == nil {
		return 1
	}
	return insertsAtOnce
}

// insertion is a batch whose insert is under way.
type insertion struct {
	filled
	err  error         // of the insert, once it is done
	done chan struct{} // closed then
}

// stageBatches stages batches until there are no more. Their inserts run side by side, and may end in any order. But
// r.stage is called in the order of the batches: when it is called for a batch, all batches before that are inserted
// too. After an error no other insert starts, and stageBatches waits for those under way.
func (r *pageReader) stageBatches(ctx context.Context, full <-chan filled, empty chan<- *decode.Batch) error {
	var queue []*insertion // the oldest first
	defer func() {
		for _, x := range queue {
			<-x.done
		}
	}()
	for full != nil || len(queue) > 0 {
		var next <-chan filled // nil while there are enough inserts
		var oldest <-chan struct{}
		if len(queue) < r.inserts() {
			next = full
		}
		if len(queue) > 0 {
			oldest = queue[0].done
		}
		select {
		case f, more := <-next:
			if !more {
				full = nil
				continue
			}
			queue = append(queue, r.start(ctx, f))
		case <-oldest:
			f, err := queue[0].filled, queue[0].err
			queue = queue[1:]
			if err == nil {
				err = r.stage(ctx, f)
			}
			if err != nil {
				return err
			}
			if !f.last { // the last batch is not needed again, and may be kept
				f.batch.Reset()
				empty <- f.batch
			}
		}
	}
	return nil
}

// start starts the insert of a batch, beside the one that is under way.
func (r *pageReader) start(ctx context.Context, f filled) *insertion {
	x := &insertion{filled: f, done: make(chan struct{})}
	if r.insert == nil {
		close(x.done)
		return x
	}
	r.run.batches++
	x.number = r.run.batches
	go func() {
		defer close(x.done)
		x.err = Contain(func() (err error) {
			x.refused, err = r.insert(ctx, x.filled)
			return err
		})
	}()
	return x
}
