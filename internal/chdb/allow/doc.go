// Package allow has the lists of what a stranger's statement may name: functions, table functions, table engines,
// formats, settings and system tables. They were cut down once from the catalogues of the pinned release of the engine.
// A test compares them with the engine: a release that brings a name, or drops one, fails it.
//
// Each list is a text file with one name a line. A name with "-" before it is refused; one with "+" is for some only,
// as the head of the file says. What follows a name says which argument is a time zone or a type, and must be written
// out.
package allow
