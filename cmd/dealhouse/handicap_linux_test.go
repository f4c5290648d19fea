package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"dealhouse/internal/launch"
)

// handicapVariable makes the program find itself on a kernel that lacks something: landlock, seccomp, or both with a
// comma between them; or, with exec, on one that does not let it execute itself.
const handicapVariable = "CLI_TEST_HANDICAP"

// handicap has the kernel answer as one that lacks what the variable says.
func handicap() error {
	names := strings.Split(os.Getenv(handicapVariable), ",")
	var refusals []unix.SockFilter
	for _, call := range []struct {
		name   string
		number uint32
		answer unix.Errno
	}{
		{"landlock", unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS}, {"seccomp", unix.SYS_SECCOMP, unix.ENOSYS},
		{"exec", unix.SYS_EXECVE, unix.EACCES},
	} {
		if slices.Contains(names, call.name) {
			refusals = append(refusals,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call.number},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(call.answer)})
		}
	}
	if len(refusals) == 0 || os.Getenv(launch.Variable) != "" { // the kernel is the same after exec
		return nil
	}
	filter := slices.Concat(
		[]unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}, refusals,
		[]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("making the kernel worse for a test: %w", errno)
	}
	return nil
}
