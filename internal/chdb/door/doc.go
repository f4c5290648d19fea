// Package door has the two ways to an engine: [Handler] is ClickHouse's HTTP interface, for strangers, and [Transport]
// answers clickhouse-go inside the process. Both speak the same protocol and understand the same requests.
//
// # Invariants
//
// Comments in the code cite these numbers; the other rooms of chdb have the others.
//
//   - chdb-11: No client of the door can keep others waiting by being slow: it has to
//     send and to read at a pace, what it has sent counts before it gets a turn, and
//     while another waits for a turn, one that is idle loses its own. Nor by asking for
//     much: who is expected to hold a turn for long, going by what the same statement,
//     connection or address has cost lately, is put off behind those that ask for little,
//     for half of the longest wait at most. And where all turns are held for long, a read that may take a moment is
//     tried in a spare one: whole or not at all, so that nobody sees it when it has to wait after all.
package door
