// Package guard checks what strangers ask an engine for, before any of it runs.
//
// # Invariants
//
// Comments in the code cite this number. The other packages below chdb have the numbers that are missing here.
//
//   - chdb-7: A door refuses everything that is not expressly allowed. Before a stranger's statement runs, the engine's
//     own lexer and parser take it apart on a connection that runs nothing of it. Every function, table function,
//     engine, format, setting, system table and kind of statement in it must be on a list (the package allow). Where
//     the parser's tree shows nothing, as in the values of an INSERT or after APPLY, only plain calls of listed
//     functions are allowed. No parameter becomes a name, no text becomes a structure, and what the engine reads as a
//     type or a time zone is a literal. The read-only door has two more locks: the statement must be classified as a
//     single read, and it runs on a reader connection, whose role has no right to write or to reach files and network,
//     and which never becomes a writer. Settings are judged by the same list wherever they come from: the doors move
//     those of a SETTINGS clause beside the text. The guard does not see data: the types inside them, as in Native or
//     Parquet, may name a time zone with the prefix file:, which makes the engine open that file (and show nothing of
//     it). Only a sandbox prevents that. A verdict is remembered only for the same text, rights and database, and only
//     if it depends on no stored definition. What a request names outside its text (settings, format, parameters) is
//     judged each time. A stored definition that no door has judged is judged when a statement names it, together with
//     all definitions that it names in turn.
package guard
