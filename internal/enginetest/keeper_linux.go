package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"dealhouse/internal/chdb"
)

// An embedded engine has no address at which other servers reach it, and without one its replicated tables are
// read-only. No configuration sets it, so tests overwrite the engine's function for it with one that returns an
// address. They do so in one release of the library only, whose bytes they know.
const (
	placedIn = "26.7.3-stable.1"
	placedAt = 0x1417c9c0 // Context::getInterserverIOAddress
)

var placedOver = []byte{0x41, 0x56, 0x53, 0x48, 0x83, 0xec, 0x48}

// beReplica lets the engine write to replicated tables, if the tests have a ZooKeeper.
func beReplica() error {
	if keeper() == "" {
		return nil
	}
	if chdb.Version != placedIn {
		return fmt.Errorf("%s: this is known for the engine %s and not for %s", keeperVariable, placedIn, chdb.Version)
	}
	base, err := loadedAt("libchdb.so")
	if err != nil {
		return err
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close() //nolint:errcheck // what was written is there
	found := make([]byte, len(placedOver))
	if _, err := memory.ReadAt(found, base+placedAt); err != nil || !bytes.Equal(found, placedOver) {
		return fmt.Errorf("%s: the library is not the one whose bytes are known: %x (%w)", keeperVariable, found, err)
	}
	_, err = memory.WriteAt(anAddress("127.0.0.1", 9009), base+placedAt)
	return err
}

// anAddress returns machine code that stores a std::pair<std::string, UInt16> at the address that its caller gives in
// rdi. A short string has its length, doubled, in the first byte, and its text in the next ones.
func anAddress(host string, port uint16) []byte {
	var result [24]byte
	result[0] = byte(2 * len(host))
	copy(result[1:], host)
	code := []byte{0x48, 0x89, 0xf8} // mov rax, rdi
	for i := range 3 {
		code = append(code, 0x48, 0xb9) // mov rcx, 8 bytes
		code = append(code, result[8*i:8*i+8]...)
		code = append(code, 0x48, 0x89, 0x4f, byte(8*i)) // mov [rdi+8i], rcx
	}
	code = append(code, 0x66, 0xc7, 0x47, 24) // mov word [rdi+24], 2 bytes
	code = binary.LittleEndian.AppendUint16(code, port)
	return append(code, 0xc3) // ret
}

// loadedAt returns where a library begins in the memory of this process.
func loadedAt(name string) (base int64, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "/"+name) {
			_, err := fmt.Sscanf(line, "%x-", &base)
			return base, err
		}
	}
	return 0, fmt.Errorf("%s: %s is not loaded", keeperVariable, name)
}
