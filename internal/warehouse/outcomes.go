package warehouse

// Outcomes of a run, as sync_runs has them.
const (
	OutcomeRunning = "running"
	OutcomeSuccess = "success"
	OutcomeFailed  = "failed"
	OutcomeStopped = "stopped" // by a signal or an operator: not a fault, and the next run makes up for it
	OutcomeGuarded = "guarded" // stopped by a guard: a person must look. If rows wait, only their deletion was stopped
	OutcomeKilled  = "killed"  // its process died before it ended
	OutcomeDryRun  = "dry_run" // it was asked to publish nothing
	// OutcomeIncomplete: the list moved while it was read, and some of its rows may have been missed. What was read is
	// published; nothing was deleted and the watermark did not move past what is certain. The next run repairs it.
	OutcomeIncomplete = "incomplete"
)

// outcome says what a run that ended in this way means for others. Every condition on outcomes is made from this table.
type outcome struct {
	name      string
	published bool // readers see what the run has read
	fault     bool // the run did not do what it was started for
}

var outcomes = []outcome{
	{name: OutcomeRunning},
	{name: OutcomeSuccess, published: true},
	{name: OutcomeIncomplete, published: true, fault: true},
	{name: OutcomeFailed, fault: true},
	{name: OutcomeGuarded, fault: true},
	{name: OutcomeKilled, fault: true},
	{name: OutcomeStopped},
	{name: OutcomeDryRun},
}

// outcomesThat lists the names of the outcomes for which are is true.
func outcomesThat(are func(outcome) bool) (names []string) {
	for _, o := range outcomes {
		if are(o) {
			names = append(names, o.name)
		}
	}
	return names
}

// Conditions on the columns outcome and waiting of sync_runs.
var (
	deletesHeld        = "(outcome = '" + OutcomeGuarded + "' AND waiting > 0)" // all is loaded, and only deletions wait
	publishedSomething = "(outcome IN (" + words(outcomesThat(func(o outcome) bool { return o.published })) + ") OR " + deletesHeld + ")"
	faulty             = "outcome IN (" + words(outcomesThat(func(o outcome) bool { return o.fault })) + ")"
)
