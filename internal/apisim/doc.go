// Package apisim simulates the retailer-deals API as its documentation describes it. It serves an invented
// world, with faults on demand.
//
// A Sim is an http.Handler. Its world has retailers, promotions, coupons, cashback offers, products, and
// organizations with transactions and payouts. The world has its own clock. Only Advance and movement move it. A test
// reads what is true with Truth and Count, changes the world with Advance, TouchTransactions, Touch, Put and Delete,
// changes how the service behaves with Settings, and breaks it with SetFault. With Settings.Movement the lists change
// by themselves while they are read.
//
// How it works: a record is a function of the seed, its number and the time, rendered into a pooled buffer when a page
// needs it. Only changes by hand or by movement are stored, and the order of items once a page has needed it.
//
// Invariants, cited in the code as apisim-N:
//
//  1. Equal Options, equal calls and an equal sequence of requests give byte-identical answers, on any machine. Only
//     the latency and the rate limit use the real clock, and nothing uses a random source: movement draws its numbers
//     from its seed and from one counter for each list.
//  2. Nothing is stored for each generated record, except the times that TouchTransactions gave and what was changed by
//     hand or by movement. The feed of two million products has no state.
//  3. Steps of any size lead to the same world: Advance(72h) is three times Advance(24h). Only what happens between
//     them differs: touches, scripts, movement.
//  4. A reader has a moment that never changes. A page comes from one moment and one set of settings,
//     and so does all of a Truth.
//  5. The Date header and updatedAt follow the world's clock: no generated record is dated later than the moment it is
//     read (Date itself has whole seconds, and Settings can skew it).
//  6. A payout is made at midnight UTC on the 1st of a month over the unpaid transactions sold more than 90 days
//     before, in their state at that moment, and never changes. In the next five minutes of the world's time each of
//     them gets the payoutId and a new updatedAt, in the state that the payout counted. Sums are exact.
//  7. A record that was Put is served byte for byte, whatever the clock and the settings do, until Touch or
//     movement updates it. It is part of no payout; nor is a generated transaction that is deleted or replaced
//     at the time of its payout.
//  8. Movement changes a list just before one of its pages is made, never during that. A request that is refused before
//     its cursor is read moves nothing, and neither does a fault that replaces the answer. Without movement, every
//     answer is as if movement did not exist.
//  9. A record that Touch or movement has changed behaves like one that was Put: it keeps its content until it is
//     changed again. It also keeps its place, except in the order Drifting, in the orders by update and in the feed. An
//     update never changes only updatedAt, and updatedAt is never later than now (apisim-5).
//
// Paging: by default the cursor is the id of the next item. A page begins at the present place of that item in the
// order asked for, even if the item has moved; a cursor whose item is gone is refused. So if an item changes while it
// is the cursor, a walk ordered by updatedAt jumps, as it does with real services that page this way. Settings.Cursor
// chooses other kinds of services. In the first, the cursor is the last item read, so a walk jumps in the same way. The
// second counts items, so it skips or repeats items if others leave or enter before the page. The third keeps the sort
// key. Only with this one, each item that does not move is served exactly once. The cursors of the second and third are
// UUIDs that belong to no item. Settings.UnknownCursor chooses the answer to a cursor that names nothing. The products
// are read by positions that stay valid, or with FeedOffsets by counting.
//
// The package imports nothing from dealhouse, so that a mistake there cannot hide behind the same mistake here.
package apisim
