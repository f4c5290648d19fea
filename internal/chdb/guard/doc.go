// Package guard checks what strangers ask an engine for, before any of it runs.
//
// # Invariants
//
// Comments in the code cite these numbers; the other rooms of chdb have the others.
//
//   - chdb-7: A door allows, and refuses the rest. Before a stranger's statement runs, the engine's own lexer and
//     parser take it apart on a connection that runs nothing of it, and every function, table function, engine, format,
//     setting, system table and kind of statement in it must be on a list (the package allow); where the parser's tree
//     shows nothing, as in the values of an INSERT or behind APPLY, only plain calls of listed functions may stand. No
//     parameter becomes a name, no text becomes a structure, and what the engine reads as a type or a time zone is
//     written out. The read-only door stands on two more locks: the statement is classified as a single read, and it
//     runs on a reader connection, whose role has no right to write or to reach files and network, and which never
//     becomes a writer. What the guard cannot see is data: an INSERT's own types, as in Native or Parquet, may name a
//     time zone with the prefix file:, which makes the engine open that file (and show nothing of it); only a sandbox
//     prevents that. A verdict is remembered only for the same text, rights and database, and only where it depends on
//     no definition; what stands outside the text is judged each time. A stored definition that no door has judged is
//     judged when a statement names it, and with it all definitions that it names in turn.
package guard
