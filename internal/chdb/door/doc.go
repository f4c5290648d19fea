// Package door has the two ways to an engine: [Handler] is ClickHouse's HTTP interface, for strangers, and [Transport]
// answers clickhouse-go inside the process. Both speak the same protocol and understand the same requests.
//
// # Invariants
//
// Comments in the code cite these numbers; the other rooms of chdb have the others.
//
//   - chdb-11: No client of the door can make others wait by being slow: it has to send and to read at a minimum pace,
//     what it sends before it gets a turn counts too, and while another waits for a turn, an idle one loses its own.
//     Nor can it do so by asking for much: a request that is expected to hold a turn for long, judging by what the same
//     statement, connection or address has cost lately, waits behind those that ask for little, for at most half of the
//     longest wait. And where all turns are held for long, a read that may take a moment is tried in a spare turn: it
//     is answered completely or not at all, so nobody notices if it has to wait after all.
package door
