package warehouse

// RejectStates are all states of a rejected record.
func RejectStates() []RejectState {
	return []RejectState{RejectOpen, RejectLoaded, RejectSuperseded, RejectUnpublished}
}

// unsettledRejects is the condition of rejected_records on what nothing has been decided about.
var unsettledRejects = "state IN (" + words([]RejectState{RejectOpen, RejectUnpublished}) + ")"
