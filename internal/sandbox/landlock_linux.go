package sandbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of Landlock that brought what is used here.
const (
	abiRefer    = 2 // renames between folders; before, they are always refused
	abiTruncate = 3
	abiTCP      = 4
	abiIoctl    = 5
	abiScope    = 6
)

// Rights over files.
const (
	readFile   = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readFolder = unix.LANDLOCK_ACCESS_FS_READ_DIR
	execute    = unix.LANDLOCK_ACCESS_FS_EXECUTE
	// forFiles are the rights that mean something for a file; the kernel accepts no others for one.
	forFiles = execute | readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// beyondWriting are the rights that a process does not need for its own files.
	beyondWriting = execute | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// abi returns the version of the kernel's Landlock, or 0 if it has none, has it switched off, or has the first one:
// that refuses to move files between folders, which an engine has to do (sandbox-6).
func abi() int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || n < abiRefer {
		return 0
	}
	return int(n)
}

// Missing returns, in words, what a policy refuses and this kernel cannot block. It is empty if the sandbox is
// complete.
func Missing() []string {
	var missing []string
	version := abi()
	if version == 0 {
		missing = append(missing, "files")
	}
	if version < abiTCP {
		missing = append(missing, "TCP connections")
	}
	if !hasSeccomp() {
		missing = append(missing, "other sockets and child processes")
	}
	return missing
}

// Verify tries what every policy refuses, as far as the kernel can refuse it. It returns an error if any of that can be
// done (sandbox-5).
func Verify() error {
	version := abi()
	if version > 0 {
		if _, err := os.ReadDir("/"); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%w: the root folder can be read", ErrNotEnforced)
		}
	}
	if version >= abiTCP {
		// Port 9 of this machine: whether anybody listens there does not matter.
		c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9})
		if err == nil {
			_ = c.Close()
		}
		if !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%w: TCP connections can be made", ErrNotEnforced)
		}
	}
	if hasSeccomp() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		if !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%w: UDP sockets can be made", ErrNotEnforced)
		}
	}
	return nil
}

// restrict cuts the rights of the calling thread, which must be locked, down to the policy and to the execution of
// the program at path.
func (p Policy) restrict(path string) error {
	// Without it neither is allowed, and the program could gain rights by executing another (sandbox-4).
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := p.landlock(path); err != nil {
		return fmt.Errorf("confine the program with Landlock: %w", err)
	}
	if !hasSeccomp() {
		return nil
	}
	if err := filterCalls(); err != nil {
		return fmt.Errorf("confine the program with seccomp: %w", err)
	}
	return nil
}

func (p Policy) landlock(path string) error {
	version := abi()
	if version == 0 {
		return nil
	}
	// The first version has the rights up to MAKE_SYM.
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 | unix.LANDLOCK_ACCESS_FS_REFER,
	}
	for _, right := range []struct {
		since int
		bit   uint64
	}{{abiTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {abiIoctl, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}} {
		if version >= right.since {
			attr.Handled_access_fs |= right.bit
		}
	}
	if version >= abiTCP {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= abiScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	// Older kernels accept the structure as long as what they do not know is zero.
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // G103: how a system call takes a structure
	if errno != 0 {
		return fmt.Errorf("make rules: %w", errno)
	}
	rules := ruleset{fd: int(n), handled: attr.Handled_access_fs}
	defer func() { _ = unix.Close(rules.fd) }()
	if err := rules.allow(p, path); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), 0, 0); errno != 0 {
		return fmt.Errorf("enforce the rules: %w", errno)
	}
	return nil
}

// ruleset is what the kernel will enforce.
type ruleset struct {
	fd      int
	handled uint64 // the rights that are refused if no rule gives them
}

// allow gives the policy's rights.
func (r ruleset) allow(p Policy, path string) error {
	loader, err := loaderOf(path)
	if err != nil {
		return err
	}
	for _, file := range []string{path, loader} {
		if file == "" {
			continue
		}
		if err := r.add(file, execute|readFile); err != nil {
			return err
		}
	}
	for _, path := range p.Read {
		if err := r.add(path, readFile|readFolder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, path := range append([]string{os.DevNull}, p.Write...) {
		if err := r.add(path, r.handled&^beyondWriting); err != nil {
			return err
		}
	}
	return nil
}

// add gives rights over a file, or over a folder and all that is below it.
func (r ruleset) add(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= forFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 { //nolint:gosec // G103: how a system call takes a structure
		return &fs.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}

// loaderOf returns the program with which the kernel starts a dynamic program, or "" for a static one.
func loaderOf(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("read this program's own file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			name := make([]byte, min(part.Filesz, unix.PathMax))
			if _, err := part.ReadAt(name, 0); err != nil {
				return "", fmt.Errorf("read this program's own file: %w", err)
			}
			return strings.TrimRight(string(name), "\x00"), nil
		}
	}
	return "", nil
}
