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
//   - sandbox-2: There are no sockets but TCP ones (no UDP, and so no names looked up; no local sockets), no child
//     processes, no tracing of other processes. TCP connects to nothing and binds nothing: a server listens before
//     it enters, and takes its listener along.
//   - sandbox-3: The new program has the standard streams, the files it is given, and no other open file; the variables
//     it is given, and no others. Whatever else was open is closed there, what a supervisor passed on included
//     (sockets of systemd, a file behind >&3).
//   - sandbox-4: Rights cannot be had back: no_new_privs is set, and the rules hold for whatever the process starts.
//   - sandbox-5: Who is inside can make sure of it: [Policy.Verify] tries what must be refused.
//   - sandbox-6: A policy with Network is for a process that loads: it leaves all sockets, and refuses child processes
//     and files as the others do. Where the kernel's Landlock cannot let an engine work that writes (before Linux 5.19
//     it always refuses to move files between folders), such a policy leaves files as they are.
//
// Files are Landlock's (Linux 5.13), TCP is Landlock's from Linux 6.7 on, and child processes and other sockets are a
// seccomp filter's. [Policy.Missing] tells what a kernel cannot do.
//
// A signal that comes while the program replaces itself (10 to 20 milliseconds) meets the default action, as at every
// start of a program. For that moment a daemon ignores SIGHUP, because it reads its configuration anyway.
//
// Not covered are: the time and memory that the process uses, what it writes into the folders that it may write to, and
// bugs in the kernel itself.
package sandbox
