package warehouse

// selectViews describes the views: each with its columns, or with its definition if these are not known without it.
const selectViews = `SELECT t.name, t.comment, if(empty(c.columns), formatQuery(t.create_table_query), ''), c.columns
FROM system.tables AS t
LEFT JOIN
(
    SELECT table, groupArray((name, type, comment)) AS columns
    FROM (SELECT table, name, type, comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position)
    GROUP BY table
) AS c ON t.name = c.table
WHERE t.database = currentDatabase() AND t.engine = 'View'
ORDER BY t.name`
