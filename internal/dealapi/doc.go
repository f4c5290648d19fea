// Package dealapi talks to the retailer-deals API. It makes single HTTP requests, with authentication, retries and a
// rate limit, and reads lists as chains of pages. It knows the envelope around a page, but not the records inside: they
// are passed on as raw JSON.
//
// A [Client] serves one API key. The [Limiter] is shared by all clients of an account. [Client.Pages] walks a list,
// [Client.Get] reads one item. Every failure is an [*Error], whose [Kind] says who has to act.
//
// # Invariants
//
// The code cites them as dealapi-N.
//
//  1. The key never leaves the origin (scheme, host and port) of Options.BaseURL: neither by a redirect, nor by a
//     nextPage that is a URL.
//  2. The key is never shown: not in an error, a log line or a printed value, and not in the excerpt of a body that
//     echoes it. The same holds for what an error wraps. Nor is it stored: records that repeat it have [key] instead.
//  3. A page that is delivered is complete: its JSON was read to the last byte and has the promised shape, and its
//     Next, if any, may be requested. A single value that is no JSON, such as NaN, is replaced by the object
//     {"": "NaN"}, which no field takes; null instead of the first page's array of records is an empty array.
//  4. A chain ends: every cursor is followed once, and each request is limited in attempts, time and bytes. An empty
//     page with a new cursor counts as progress: only the deadline of the caller's context limits how many there may
//     be.
//  5. Nothing sleeps past the deadline of its context. If the next attempt could only be made after the deadline, the
//     last fault is returned at once.
//  6. No goroutine outlives the loop over Pages, however the loop ends.
//  7. Page.ServerTime is never later than the server's own clock was when the request arrived, because every rounding
//     goes down. The local clock is used only for durations.
//  8. A page's buffer belongs to the consumer: it is never written to again.
//  9. Only faults that can pass are retried. A refused key, a bad parameter or an unknown address fails at the first
//     answer.
//
// # What the API promises
//
// The code relies on these, and on nothing else:
//
//  10. Every operation is a GET with the header "Authorization: Bearer <API_KEY>". A success has status 200 and a JSON
//     body; what an error looks like is not promised.
//  11. Promotions, coupons, cashback offers and transactions come as {"data": [...], "cursor": "..."}. A cursor is
//     there only when there is more; sent back as the parameter cursor, it leads to the next page.
//  12. Products come as {"data": [...], "nextPage": "..."}. How nextPage is sent back is not documented: the name of
//     the parameter is a setting, and the value may be a token, a number or a URL.
//  13. Payouts come as a bare array, without pages.
//  14. A promotion, a coupon or a cashback offer can be read by its own address, {list}/{id}.
package dealapi
