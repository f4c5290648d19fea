// Package notify tells people when something begins or ends to be wrong, where there is no Prometheus: one message for
// each such change (an edge), to a webhook, to Slack, to Teams or by mail. It also pings dead man's switches. The
// daemon and `dealhouse sync` use it.
//
// The way of a message: a turn reads where the streams stand (observe.go), compares that with what each receiver was
// told (edges.go), stores a message for each difference (Warehouse.QueueNotifications), and sends what waits
// (deliver.go), in the form of its receiver (forms.go, mail.go). Pings (ping.go) are neither stored nor repeated: one
// that comes late would say what is no longer true.
//
// Invariants, cited in the code as notify-N:
//
//  1. What was sent is recorded in the warehouse, in the row of the message itself. So a restart neither repeats nor
//     forgets an edge, and a message is never recorded as sent unless it is there to be sent.
//  2. One process at a time decides and stores edges; one process at a time sends messages. Each of the two jobs has a
//     turn of its own, so that a receiver that hangs stops nobody from storing. A turn ends before others may count it
//     as abandoned.
//  3. A message is sent until its receiver has accepted it, in the order of that receiver's messages, at least once. A
//     repetition has the same ID, in the header Idempotency-Key, in the body, or as Message-ID, and says that it is
//     one.
//  4. The waiting messages are limited in number and age. What is dropped for that reason is counted, logged, and stays
//     in the warehouse.
//  5. A receiver delays only itself: runs do not wait for messages, receivers are served in parallel, each attempt has
//     a time limit, and only the status and the first bytes of an answer are read. Redirects are not followed.
//  6. No error, log line, metric, page or stored row contains a URL of a receiver or a part of it, a token or a
//     password. Nor does it contain the answer of a receiver, except for the status. Answers of a mail server are shown
//     without what was sent to it.
//  7. Texts from the API stay text in every form: they cannot mention people, add formatting, a header or a field, or
//     control a terminal. What the author of a template writes is left as it is.
//  8. The message that the warehouse does not work cannot be stored in it. It is sent directly, and only the process
//     remembers it: two processes may both send it, and one process may send it again after a restart.
package notify
