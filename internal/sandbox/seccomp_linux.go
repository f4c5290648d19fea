package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architecture returns that of this program, if the filter knows its system calls, or 0.
func architecture() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// hasSeccomp reports whether the kernel can filter this program's system calls.
func hasSeccomp() bool {
	// If it is given no filter, a kernel that knows the operation answers EFAULT.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	return errno == unix.EFAULT && architecture() != 0
}

// Where the filter finds the call that is made. Both architectures are little endian: an argument's low half comes
// first.
const (
	callNumber = 0
	callArch   = 4
	firstArg   = 16
	secondArg  = 24
	thirdArg   = 32
)

// refusedCalls are never needed by a process that may start nothing and look at no other process.
var refusedCalls = append([]uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_IO_URING_SETUP,
	unix.SYS_BPF,
	unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT,
}, forks...)

// filterCalls puts a filter on the calling thread that refuses what Landlock does not cover (sandbox-2).
func filterCalls() error {
	f := newFilter()
	for _, number := range refusedCalls {
		f.when(number, refuse)
	}
	// A filter cannot see its flags. C libraries then fall back on clone.
	f.when(unix.SYS_CLONE3, absent)
	f.clone()
	f.when(unix.SYS_SOCKETPAIR, refuse)
	f.socket()
	return f.install(0)
}

// Seal makes the kernel refuse to execute any program, this one included. That holds for all threads of the process,
// and for those that they start (sandbox-1). It is for a process that is inside. If the kernel has no seccomp, it
// does nothing.
func Seal() error {
	if !hasSeccomp() {
		return nil
	}
	f := newFilter()
	f.when(unix.SYS_EXECVE, refuse)
	f.when(unix.SYS_EXECVEAT, refuse)
	if err := f.install(unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return fmt.Errorf("refuse to execute programs: %w", err)
	}
	return nil
}

// newFilter returns the beginning of a filter. It ends a process that makes a call of another architecture, and refuses
// calls by the numbers of x32.
func newFilter() filter {
	f := filter{}
	f.loadWord(callArch)
	f.unless(architecture(), kill)
	f.loadWord(callNumber)
	if runtime.GOARCH == "amd64" {
		const x32 = 0x40000000 // the calls of another interface, by other numbers
		f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0, 1, x32)
		f.answer(refuse)
	}
	return f
}

// install puts the filter on the calling thread, and with SECCOMP_FILTER_FLAG_TSYNC on all others.
func (f filter) install(flags uintptr) error {
	f.answer(allow)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program))) //nolint:gosec // G103: how a system call takes a structure
	runtime.KeepAlive(f)
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d has other filters", thread)
	}
	return nil
}

// Answers of the filter.
const (
	allow  = unix.SECCOMP_RET_ALLOW
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	kill   = unix.SECCOMP_RET_KILL_PROCESS
)

// filter is a program of classic BPF.
type filter []unix.SockFilter

func (f *filter) add(code uint16, yes, no uint8, k uint32) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) loadWord(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
func (f *filter) answer(answer uint32)   { f.add(unix.BPF_RET|unix.BPF_K, 0, 0, answer) }

// when answers if what was loaded is k.
func (f *filter) when(k, answer uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, k)
	f.answer(answer)
}

// unless answers if what was loaded is not k.
func (f *filter) unless(k, answer uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, k)
	f.answer(answer)
}

// clone allows only threads to be made.
func (f *filter) clone() {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 4, unix.SYS_CLONE)
	f.loadWord(firstArg)
	f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 1, 0, unix.CLONE_THREAD)
	f.answer(refuse)
	f.answer(allow)
}

// socket allows only TCP sockets, which Landlock restricts. It does not restrict those of MPTCP.
func (f *filter) socket() {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 12, unix.SYS_SOCKET)
	f.loadWord(firstArg)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 2, 0, unix.AF_INET)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, unix.AF_INET6)
	f.answer(refuse)
	f.loadWord(secondArg)
	f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, 0xf) // without the flags
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, unix.SOCK_STREAM)
	f.answer(refuse)
	f.loadWord(thirdArg)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 2, 0, unix.IPPROTO_IP)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, unix.IPPROTO_TCP)
	f.answer(refuse)
}
