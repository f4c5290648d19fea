// Package apisim is the retailer-deals API as its documentation says, served from a made-up world, with faults on
// demand.
//
// A Sim is an http.Handler. Its world has retailers, promotions, coupons, cashback offers, products, and organizations
// with transactions and payouts. The world has a clock of its own that only Advance moves. A test reads what is true
// with Truth and Count, changes the world with Advance, TouchTransactions, Touch, Put and Delete, changes how the
// service behaves with Settings, and breaks it with SetFault. With Settings.Movement the lists change by themselves
// while they are read.
//
// How it works: a record is a function of the seed, its number and the time, rendered into a pooled buffer when a page
// needs it. Only what a caller did by hand is stored, and the order of items once a page has asked for it.
//
// Invariants, cited in the code as apisim-N:
//
//  1. Equal Options, equal calls and an equal sequence of requests give byte-identical answers, on any machine. Nothing
//     reads the real clock or a random source, but for the latency and the rate limit; movement draws from its seed and
//     from counters, one for each list.
//  2. Nothing is stored for each generated record, except the times that TouchTransactions gave and what was changed by
//     hand or by movement. The feed of two million products has no state.
//  3. Steps of any size lead to the same world: Advance(72h) is three times Advance(24h). Only what happens between
//     them differs: touches, scripts, movement.
//  4. A reader holds a moment that never changes. A page comes from one moment and one set of settings, and so does all
//     of a Truth.
//  5. The Date header and updatedAt are on the world's clock: no generated record is dated later than the moment it is
//     read (Date itself has whole seconds, and Settings can skew it).
//  6. A payout is made at midnight UTC on the 1st of a month over the unpaid transactions sold more than 90 days
//     before, as they stand then, and never changes. Over the next five minutes of the world each of them gets the
//     payoutId and a new updatedAt, in the state that the payout counted. Sums are exact.
//  7. A record that was Put is served byte for byte, whatever the clock and the settings do, until Touch or movement
//     updates it. It takes no part in payouts; neither does a generated transaction that is deleted or replaced when
//     its payout is made.
//  8. Movement changes a list just before one of its pages is made, never while it is. A refused request and a fault
//     that replaces the answer move nothing. Without movement every answer is as if there were none.
//  9. A record that Touch or movement changed is as if it had been Put: it keeps its content and, but in Drifting, the
//     updated orders and the feed, its place, until it is changed again. What an update changes is never only
//     updatedAt, and updatedAt is never later than now (apisim-5).
//
// Paging: by default the cursor is the id of the next item. A page begins where that item is now, in the order asked
// for, even if it has moved; a cursor whose item is gone is refused. So an item that changes while it is the cursor
// makes a walk ordered by updatedAt jump, as it does with services that page this way. Settings.Cursor chooses other
// kinds of services. In the first, the cursor is the last item read, and so jumps in the same way. The second counts
// items, so it skips or repeats items when others leave or enter before the page. The third keeps the sort key. Only
// this one serves each item exactly once that stays where it is. The cursors of the latter two are UUIDs of no item.
// Settings.UnknownCursor says what is answered when a cursor names nothing. The products are read by positions that
// stay, or with FeedOffsets by counting.
//
// The package imports nothing of dealhouse, so that a mistake there cannot hide behind the same mistake here.
package apisim
