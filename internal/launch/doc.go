// Package launch starts this program again in a sandbox, for what has to do with an embedded engine. A [Job] is done by
// a process that has nothing else. The process that has read the command line, the configuration and the environment
// writes the job down. It is replaced by the one that does it ([Launcher.Replace]), or keeps that one as a child
// ([Keeper]): whatever loads or listens does the latter, and the engine has neither its keys nor the network.
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
//  4. An engine can write to the folder of the warehouse, and, where only statements of this program are run, to those
//     that links in it lead to.
//  5. A process that loads, or listens for strangers, does not have the engine itself: it keeps a process that has
//     (Keeper). When that ends by itself, whatever ended it, it is started anew. When it does not answer any more, or
//     is told to end and does not, it is killed. It never outlives the process that keeps it.
package launch
