package warehouse

// States of a transaction that was paid, as payout_transactions has them.
const (
	TransactionSame    = "same"    // it is as it was stamped
	TransactionChanged = "changed" // its status or an amount has changed
	TransactionMoved   = "moved"   // it carries another payoutId, or none
	TransactionGone    = "gone"    // the service no longer lists it
)

// TransactionStates returns all of them.
func TransactionStates() []string {
	return []string{TransactionSame, TransactionChanged, TransactionMoved, TransactionGone}
}

// Differs reports whether the transaction is no longer as it was stamped.
func (t PayoutTransaction) Differs() bool { return t.State != TransactionSame }

// Where an amount at stake comes from, as the columns at_stake_* of payout_reconciliation have it: transactions that
// are still in the payout, by their status; those that are no longer in it; and what no transaction explains.
const (
	StakeConfirmed   = "confirmed"
	StakeDeclined    = "declined"
	StakePending     = "pending"
	StakeOther       = "other" // a status that is not known
	StakeMoved       = "moved"
	StakeGone        = "gone"
	StakeUnexplained = "unexplained"
)

// StakeStates returns all of them, in the order of Payout.AtStakeBy.
func StakeStates() []string {
	return []string{StakeConfirmed, StakeDeclined, StakePending, StakeOther, StakeMoved, StakeGone, StakeUnexplained}
}

// States of a payout in the comparison of what it earned, paid out and brought, as payout_three_way has them.
const (
	ThreeWayReceived    = "received"     // all of it has arrived
	ThreeWayShort       = "short"        // less has arrived
	ThreeWayOver        = "over"         // more has arrived
	ThreeWayOutstanding = "outstanding"  // nothing has arrived
	ThreeWayNotPaidOut  = "not paid out" // what has arrived is not known to be paid out
	ThreeWayNothingDue  = "nothing due"  // it paid nothing
)

// ThreeWayStates returns all of them.
func ThreeWayStates() []string {
	return []string{ThreeWayReceived, ThreeWayShort, ThreeWayOver, ThreeWayOutstanding, ThreeWayNotPaidOut,
		ThreeWayNothingDue}
}
