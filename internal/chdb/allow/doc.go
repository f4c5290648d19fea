// Package allow has the lists of what a stranger's statement may name: functions, table functions, table engines,
// formats, settings and system tables. They began as the catalogues of the pinned release of the engine, cut down by
// hand. A test compares them with the engine: it fails if a release adds or drops a name.
//
// Each list is a text file with one name in each line. A name with "-" before it is refused. A name with "+" is allowed
// only in some cases, and the head of the file says in which. The text after a name says which argument is a time zone
// or a type. Such an argument must be a literal.
package allow
