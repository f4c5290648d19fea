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
//  1. What was told is in the warehouse, in the row of the message that tells it. So a restart neither repeats nor
//     forgets an edge, and a message is never recorded as told without being there to be sent.
//  2. Edges are decided, and stored, by one process at a time; messages are sent by one process at a time. Each has a
//     turn of its own, so that a receiver that hangs keeps nobody from storing. A turn is over before it counts as
//     forgotten.
//  3. A message is sent until its receiver has taken it, in the order of its receiver's messages, at least once. What
//     is sent again has the same ID, in the header Idempotency-Key, in the body, or as Message-ID, and says so.
//  4. What waits is bounded, in number and age. What is dropped for that is counted, logged, and stays in the
//     warehouse.
//  5. A receiver holds up nobody but itself: runs do not wait for messages, receivers are served side by side, each
//     attempt has a time limit, and of an answer only its status and its first bytes are read. Redirects are not
//     followed.
//  6. No error, log line, metric, page or stored row has a URL of a receiver, or what is in it, a token or a password;
//     nor has it what a receiver answers, but for the status. What a mail server says is shown without what was sent to
//     it.
//  7. Texts of the API stay text in every form: they cannot mention people, format, add a header or a field, or steer a
//     terminal. What the author of a template writes is left as it is.
//  8. A message that the warehouse does not work cannot be stored in it. It is sent directly, and only the process
//     remembers it: two processes may both send it, and so may one after a restart.
package notify
