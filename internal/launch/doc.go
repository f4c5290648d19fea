// Package launch starts this program again in a sandbox, and receives there what was handed over. There are two ways:
//
//   - A [Job] is done by a process that has nothing else: it queries or serves an embedded warehouse. The process that
//     has read the command line, the configuration and the environment writes the job down, and is replaced by the one
//     that does it, or starts it as a child.
//   - A command that loads keeps its command line, its keys and the network: right before it opens an embedded engine,
//     it is replaced by itself with fewer rights, and does the same again up to that point ([Confinement]).
//
// Package sandbox has the rights themselves.
//
// Invariants, cited in the code as launch-N:
//
//  1. The process of a job has no secret but those of the job, and they are in no environment and in no list of
//     processes: the job comes in a file that is on no disk.
//  2. A process believes that it is in the sandbox only after it has made sure of it, whatever its environment says.
//  3. Where there is no complete sandbox, the log says so, once. Other machines are not served then unless the operator
//     has allowed it.
//  4. A process that loads can write to the folder of the warehouse, to the folders that links in it lead to, and to
//     those of the other files that it writes. What it has read of its configuration from a pipe comes along.
//  5. A process that listens for strangers, and a daemon, do not have the engine themselves: they keep a process that
//     has (Keeper). When it ends by itself, whatever ended it, it is started anew. When it does not answer any more, or
//     is told to end and does not, it is killed. It never outlives the process that keeps it.
package launch
