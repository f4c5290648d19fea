// Package door has the two ways to an engine: [Handler] is ClickHouse's HTTP interface, for strangers, and [Transport]
// answers clickhouse-go inside the process. Both speak the same protocol and understand the same requests.
//
// # Invariants
//
// Comments in the code cite this number. The other packages below chdb have the numbers that are missing here.
//
//   - chdb-11: No client of the door can make others wait by being slow: it has to send and to read at a minimum pace,
//     even before it gets a turn, and an idle client loses its turn when another waits for one. Nor can it do so by
//     asking for much: some requests will probably hold a turn for long, judging by what the same statement, connection
//     or address has cost lately. Such a request waits behind those that ask for little, for at most half of the
//     longest wait. And while all turns are held for long, a read that may take only a moment is tried in a spare turn:
//     it is answered completely or not at all, so nobody notices if it has to wait for a turn after all.
//   - chdb-13: The process that listens need not be the one that has the engine. A request that is under way when that
//     one ends is answered with an error that says so, or breaks off. It is never sent again, and half of its answer
//     never looks whole. Requests that come later wait for the next process for a moment.
package door
