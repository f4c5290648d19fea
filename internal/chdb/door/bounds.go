package door

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"dealhouse/internal/chdb/exception"
)

const (
	// smallText is how many bytes of a request are kept in memory while it has neither a turn nor a place.
	smallText = 64 << 10
	// largestFrame is how many bytes a stranger's compressed frame may have, packed and unpacked. A frame is unpacked
	// as a whole, into memory. ClickHouse's own programs make frames of 1 MiB, clickhouse-go of about 10.
	largestFrame = 16 << 20
)

// bounds limits the memory of requests that have no turn yet: only requests with a place may hold more than smallText.
// For the program's own requests the pointer is nil, which means no bounds.
type bounds struct {
	place func() (over func(), err error) // waits for a place
	over  func()
	free  bool // it has a place, or its turn
}

// large asks for a place, once.
func (b *bounds) large() error {
	if b == nil || b.free {
		return nil
	}
	over, err := b.place()
	if err != nil {
		return err
	}
	b.over, b.free = over, true
	return nil
}

// release gives the place back.
func (b *bounds) release() {
	if b.over != nil {
		b.over()
	}
}

// frames passes on a stranger's compressed frames. It reads each one completely first, and checks that it unpacks to
// the size that its header says.
type frames struct {
	r      io.Reader
	bounds *bounds
	frame  bytes.Buffer
}

// The header of a frame: a checksum, the method, and two sizes. The first size counts itself and what follows it.
const (
	frameMethod, framePacked, frameUnpacked, frameHeader = 16, 17, 21, 25
	frameCounted                                         = 9
	methodZSTD                                           = 0x90
)

func (f *frames) Read(p []byte) (int, error) {
	if f.frame.Len() == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	return f.frame.Read(p)
}

func (f *frames) next() error {
	var header [frameHeader]byte
	if _, err := io.ReadFull(f.r, header[:]); err != nil {
		return err
	}
	packed := int64(binary.LittleEndian.Uint32(header[framePacked:])) - frameCounted
	unpacked := int64(binary.LittleEndian.Uint32(header[frameUnpacked:]))
	if packed < 0 || packed > largestFrame || unpacked > largestFrame {
		return exception.New(exception.BadArguments, "BAD_ARGUMENTS",
			fmt.Sprintf("a compressed frame of the body is broken, or has more than %d MiB: send smaller ones",
				largestFrame>>20))
	}
	if packed+unpacked > smallText {
		if err := f.bounds.large(); err != nil {
			return err
		}
	}
	f.frame.Reset()
	f.frame.Write(header[:])
	if _, err := io.CopyN(&f.frame, f.r, packed); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	if header[frameMethod] != methodZSTD {
		return nil // LZ4 never unpacks to more than its header says
	}
	return checkZSTD(f.frame.Bytes()[frameHeader:], unpacked)
}

// checkZSTD refuses a frame that would unpack to another size, before anyone reserves memory for it.
func checkZSTD(packed []byte, size int64) error {
	z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(largestFrame))
	if err != nil {
		return fmt.Errorf("unpack a frame: %w", err)
	}
	defer z.Close()
	if n, err := io.Copy(io.Discard, io.LimitReader(z, size+1)); err != nil || n != size {
		return exception.New(exception.BadArguments, "BAD_ARGUMENTS",
			"a compressed frame of the body does not have the size that it says")
	}
	return nil
}
