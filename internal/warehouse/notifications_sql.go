package warehouse

// selectTold selects the subjects of each receiver of which it was told that they began, and not yet that they ended.
// Equal rows do no harm, so it needs no FINAL.
const selectTold = `SELECT receiver, substring(said, 2) AS subject
FROM notifications_log ARRAY JOIN subjects AS said
GROUP BY receiver, subject
HAVING NOT max(startsWith(said, '-'))`

// notificationFields are the columns of which Notification.fields has the values.
const notificationFields = "receiver, id, queued, at, event, account, streams, subjects, title, text, state, attempts, next_at, error, ended_at"

// selectWaiting selects the first waiting messages of a receiver, or of each, in their order. Parameters: receiver and
// limit.
var selectWaiting = sql(`SELECT $fields FROM notifications_log FINAL
WHERE state = $waiting AND {receiver:String} IN ('', receiver)
ORDER BY receiver, queued, id LIMIT {limit:UInt64} BY receiver`,
	parts{"fields": notificationFields, "waiting": quote(NotificationWaiting)})

// selectNotifications selects the last messages of a receiver, or of all, the newest first. Parameters: receiver and
// limit.
var selectNotifications = sql(`SELECT $fields FROM notifications_log FINAL
WHERE event != '' AND {receiver:String} IN ('', receiver)
ORDER BY queued DESC, receiver LIMIT {limit:UInt64}`, parts{"fields": notificationFields})

// selectReceivers selects the state of each receiver that ever had a message.
var selectReceivers = sql(`SELECT receiver, countIf(state = $waiting), minOrNullIf(at, state = $waiting),
    maxIf(ended_at, state = $sent), countIf(state = $sent), countIf(state = $dropped),
    argMinIf(attempts, (queued, id), state = $waiting), argMinIf(error, (queued, id), state = $waiting)
FROM notifications_log FINAL WHERE event != '' GROUP BY receiver`,
	parts{"waiting": quote(NotificationWaiting), "sent": quote(NotificationSent),
		"dropped": quote(NotificationDropped)})
