// Package web is the daemon's HTTP side: metrics, health, a JSON API and the status page. It shows what the daemon and
// the warehouse know, and changes nothing.
//
// Invariants, cited in the code as web-N:
//
//  1. Nothing can be changed through it: GET and HEAD are all it answers.
//  2. Whatever came from upstream or from a warehouse is text: it reaches a page only through html/template, and a page
//     runs no script and loads nothing but what this package serves (the Content-Security-Policy says so to the browser).
//  3. However many look, the warehouse is asked at most once in a moment for the same thing, few questions at a time,
//     each with a time-out.
//  4. The status page answers when the warehouse does not: it shows what was last known, and says so.
//  5. Without credentials nobody learns more than whether the daemon lives and is ready, once credentials are configured.
package web
