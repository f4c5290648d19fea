// Package web is the daemon's HTTP side: metrics, health, a JSON API and the status page. It shows what the daemon and
// the warehouse know, and passes on what an operator requests.
//
// Files, from the top down: routes.go says what is served. pages.go, downloads.go, api.go and actions.go answer
// requests. server.go is the server, and answers.go what it asks the warehouse for, once for all who look (reads.go).
// Below are what each page shows: statuspage.go, streampage.go, timeline.go, payouts.go, payoutpage.go and
// statementpage.go, with their words in verdict.go and overview.go. replies.go writes pages and JSON.
//
// Invariants, cited in the code as web-N:
//
//  1. GET and HEAD change nothing. POST is only for actions of operators, at two addresses. It is answered only if a
//     user is configured and the request has the user's credentials.
//  2. Everything that came from the API or from a warehouse is text: it reaches a page only through html/template.
//     A page runs no scripts and loads nothing except what this package serves; the Content-Security-Policy makes
//     the browser enforce that.
//  3. However many people look, the same question is sent to the warehouse at most once within a moment. Only a few
//     questions are sent at a time, each with a time-out.
//  4. The status page also works when the warehouse does not: it shows the last known state, and says so.
//  5. Once credentials are configured, a request without them only learns whether the daemon is alive and ready.
//  6. A browser sends the credentials even with requests that other sites cause. So an action is refused if the browser
//     says that another origin sent it. A form also needs the token of our pages. A program must send JSON, which a
//     page of another site cannot do without asking this server first.
package web
