// Package apisim is the retailer-deals API as its interface document says,
// served from a made-up world, with faults on demand.
//
// A Sim is an http.Handler. Its world has retailers, promotions, coupons,
// cashback offers, products, and organizations with transactions and payouts.
// The world has a clock of its own that only Advance moves. A test reads what
// is true with Truth and Count, changes the world with Advance,
// TouchTransactions, Put and Delete, changes the manners of the service with
// Settings, and breaks it with SetFault.
//
// How it works: a record is a function of the seed, its number and the time,
// rendered into a pooled buffer when a page needs it. Only what a caller did
// by hand is stored, and the order of items once a page has asked for it.
//
// Invariants, cited where the code keeps them:
//
//  1. Equal Options and equal calls give byte-identical answers, on any
//     machine. Nothing reads the real clock or a random source, but for the
//     latency and the rate limit.
//  2. Nothing is stored for each generated record, except the times that
//     TouchTransactions gave. The feed of two million products has no state.
//  3. Steps of any size lead to the same world: Advance(72h) is three times
//     Advance(24h). Only what happens between them differs: touches, scripts.
//  4. A reader holds a moment that never changes. A page comes from one moment
//     and one set of settings, and so does all of a Truth.
//  5. The Date header and updatedAt are on the world's clock: no generated
//     record is dated later than the moment it is read (Date itself has whole
//     seconds, and Settings can skew it).
//  6. A payout is made at midnight UTC on the 1st of a month over the unpaid
//     transactions sold more than 90 days before, as they stand then, and never
//     changes. Over the next five minutes of the world each of them gets the
//     payoutId and a new updatedAt, in the state that the payout counted.
//     Sums are exact.
//  7. A record that was Put is served byte for byte, whatever the clock and
//     the settings do. It takes no part in payouts; neither does a generated
//     transaction that is deleted or replaced when its payout is made.
//
// Paging: the cursor is the id of the next item. A page begins where that item
// is now, in the order asked for, even if it has moved; a cursor whose item is
// gone is refused. So an item that changes while it is the cursor makes a walk
// ordered by updatedAt jump, as it does with services that page this way.
//
// The package imports nothing of dealhouse, so that a mistake there cannot
// hide behind the same mistake here.
package apisim
