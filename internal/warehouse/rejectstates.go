package warehouse

// RejectStates returns all states of a rejected record.
func RejectStates() []RejectState {
	return []RejectState{RejectOpen, RejectLoaded, RejectSuperseded, RejectUnpublished}
}

// unsettledRejects is the condition of rejected_records for rejects about which nothing has been decided.
var unsettledRejects = "state IN (" + words([]RejectState{RejectOpen, RejectUnpublished}) + ")"
