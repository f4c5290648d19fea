// Package access opens the warehouse of a configuration for a command: on its server, in this process, or through
// another process that has it open. An embedded warehouse is open in one process at a time, so a command that comes
// second works through the first, or waits for its end.
//
// Invariants, cited in the code as access-N:
//
//  1. A command that only reads works through any process that shares the warehouse: it is done in a moment. A command
//     that loads works through a daemon alone, and waits for the end of any other process: it may take longer than a
//     load that is under way.
//  2. Only what may create a warehouse creates one. To all others, a folder without one is an [AbsentError].
//  3. An error about a warehouse that does not answer says what to check, and has no password in it.
package access
