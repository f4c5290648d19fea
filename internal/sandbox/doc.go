// Package sandbox starts this program again with only what it is given by name: its environment, its open files and, on
// Linux, its rights. It is for a process that runs code or queries of strangers. It knows nothing about what the
// program does.
//
// # Model
//
// The rights of a process can only be reduced thread by thread, and a C library has threads that Go does not know. So
// one thread reduces its own rights and then replaces the program by itself (exec, with the same process id): every
// thread of the new program has the rights of the thread that started it.
//
// # Invariants
//
// Comments in the code cite these numbers.
//
//   - sandbox-1: What a policy does not name is refused. All rights over files and TCP that the kernel can refuse are
//     refused, and given back for the named paths alone. No program can be executed: at first no other one, and after
//     [Seal], which the process inside calls, not this one either.
//   - sandbox-2: There are no sockets except TCP ones (no UDP, and so no lookup of names; no local sockets), no child
//     processes, no tracing of other processes. TCP can neither connect nor bind: a server listens before it enters,
//     and takes its listener along.
//   - sandbox-3: The new program has the standard streams, the files it is given, and no other open file; the variables
//     it is given, and no others. Everything else that was open is closed there, including what a supervisor passed on
//     (sockets of systemd, a file behind >&3).
//   - sandbox-4: Rights cannot be regained: no_new_privs is set, and the rules hold for everything that the
//     process starts.
//   - sandbox-5: A process that is inside can check this: [Verify] tries what must be refused.
//   - sandbox-6: What an engine has to do inside works: it moves files between folders. A kernel that always refuses
//     that counts as one without Landlock.
//
// Landlock restricts files (Linux 5.19 and later) and TCP (Linux 6.7 and later). A seccomp filter restricts child
// processes and other sockets. [Missing] returns what a kernel cannot do.
//
// A signal that comes while the program replaces itself (10 to 20 milliseconds) causes the default action, as at every
// start of a program.
//
// Not covered are: the time and memory that the process uses, what it writes into the folders that it may write to, and
// bugs in the kernel itself.
package sandbox
