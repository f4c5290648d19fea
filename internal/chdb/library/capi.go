package library

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Pointer is an opaque C pointer. The engine's memory is never Go memory, so the
// garbage collector has nothing to do with what it points to.
type Pointer = unsafe.Pointer

// API is the C API of libchdb as Go functions. The types must match the C
// prototypes exactly: nothing checks them.
type API struct {
	Setenv            func(name, value string, overwrite int32) int32
	SetSignalHandlers func(int32)
	connect           func(argc int32, argv *Pointer) Pointer
	CloseConn         func(connPtr Pointer)

	query       func(c Pointer, q *byte, ql uintptr, fmt *byte, fl uintptr) Pointer
	queryParams func(c Pointer, q *byte, ql uintptr, fmt *byte, fl uintptr, names *Pointer, nlens *uintptr,
		vals *Pointer, vlens *uintptr, n uintptr) Pointer
	streamQuery       func(c Pointer, q *byte, ql uintptr, fmt *byte, fl uintptr) Pointer
	streamQueryParams func(c Pointer, q *byte, ql uintptr, fmt *byte, fl uintptr, names *Pointer, nlens *uintptr,
		vals *Pointer, vlens *uintptr, n uintptr) Pointer
	StreamFetch  func(c, stream Pointer) Pointer
	StreamCancel func(c, stream Pointer)

	resultBuffer      func(Pointer) Pointer
	resultLength      func(Pointer) uintptr
	ResultError       func(Pointer) string
	resultRowsRead    func(Pointer) uint64
	resultRowsWritten func(Pointer) uint64
	DestroyResult     func(Pointer)

	StreamInsert       func(c Pointer, q *byte, ql uintptr, fmt *byte, fl uintptr) Pointer
	StreamAppend       func(stream Pointer, data *byte, n uintptr) int32
	StreamDone         func(stream Pointer) Pointer
	StreamCancelInsert func(stream Pointer)
	StreamInsertError  func(stream Pointer) string
	DestroyInsert      func(stream Pointer)

	Classify func(c Pointer, q *byte, ql uintptr, db *byte, dl uintptr, out *[4]uint32) int32
}

// Open maps the shared library at path and resolves every symbol, so
// that a library of another version fails here and not in the middle of a query.
func Open(path string) (*API, error) {
	// RTLD_LOCAL hides the symbols of the engine's half a gigabyte from other libraries.
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	lib := &API{}
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return nil, err
	}
	purego.RegisterFunc(&lib.Setenv, setenv)
	for _, s := range []struct {
		fn   any
		name string
	}{
		{&lib.SetSignalHandlers, "chdb_set_signal_handlers_enabled"},
		{&lib.connect, "chdb_connect"},
		{&lib.CloseConn, "chdb_close_conn"},
		{&lib.query, "chdb_query_n"},
		{&lib.queryParams, "chdb_query_with_params_n"},
		{&lib.streamQuery, "chdb_stream_query_n"},
		{&lib.streamQueryParams, "chdb_stream_query_with_params_n"},
		{&lib.StreamFetch, "chdb_stream_fetch_result"},
		{&lib.StreamCancel, "chdb_stream_cancel_query"},
		{&lib.resultBuffer, "chdb_result_buffer"},
		{&lib.resultLength, "chdb_result_length"},
		{&lib.ResultError, "chdb_result_error"},
		{&lib.resultRowsRead, "chdb_result_rows_read"},
		{&lib.resultRowsWritten, "chdb_result_rows_written"},
		{&lib.DestroyResult, "chdb_destroy_query_result"},
		{&lib.StreamInsert, "chdb_stream_insert_n"},
		{&lib.StreamAppend, "chdb_stream_append"},
		{&lib.StreamDone, "chdb_stream_done"},
		{&lib.StreamCancelInsert, "chdb_stream_cancel_insert"},
		{&lib.StreamInsertError, "chdb_stream_insert_error"},
		{&lib.DestroyInsert, "chdb_destroy_insert_stream"},
		{&lib.Classify, "chdb_classify_query_n"},
	} {
		sym, err := purego.Dlsym(handle, s.name)
		if err != nil {
			return nil, fmt.Errorf("symbol %s: %w", s.name, err)
		}
		purego.RegisterFunc(s.fn, sym)
	}
	return lib, nil
}

// Connect makes one more connection. argv is only read during the call. A nil result means that the engine refused. It
// writes the reason only to stderr.
func (l *API) Connect(args []string) Pointer {
	var pins runtime.Pinner
	defer pins.Unpin()
	argv := make([]Pointer, len(args))
	for i, a := range args {
		b := append([]byte(a), 0)
		pins.Pin(&b[0])
		argv[i] = Pointer(&b[0])
	}
	pins.Pin(&argv[0])
	return l.connect(int32(len(argv)), &argv[0])
}

// Param is one server-side query parameter.
type Param struct{ Name, Value string }

// Run calls query, or queryParams if there are parameters; stream chooses the streaming version of either.
func (l *API) Run(c Pointer, query, format string, params []Param, stream bool) Pointer {
	q, f := BytePtr(query), BytePtr(format)
	defer runtime.KeepAlive(query)
	defer runtime.KeepAlive(format)
	if len(params) == 0 {
		call := l.query
		if stream {
			call = l.streamQuery
		}
		return call(c, q, uintptr(len(query)), f, uintptr(len(format)))
	}

	var pins runtime.Pinner
	defer pins.Unpin()
	n := len(params)
	names, values := make([]Pointer, n), make([]Pointer, n)
	nameLens, valueLens := make([]uintptr, n), make([]uintptr, n)
	for i := range params {
		np, vp := BytePtr(params[i].Name), BytePtr(params[i].Value)
		pins.Pin(np)
		pins.Pin(vp)
		names[i], nameLens[i] = Pointer(np), uintptr(len(params[i].Name))
		values[i], valueLens[i] = Pointer(vp), uintptr(len(params[i].Value))
	}
	call := l.queryParams
	if stream {
		call = l.streamQueryParams
	}
	return call(c, q, uintptr(len(query)), f, uintptr(len(format)),
		&names[0], &nameLens[0], &values[0], &valueLens[0], uintptr(n))
}

// Bytes returns the result's payload. It is valid until the result is destroyed.
func (l *API) Bytes(result Pointer) []byte {
	n := l.resultLength(result)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(l.resultBuffer(result)), n) //nolint:gosec // G103: n bytes are what the library says the buffer has
}

// BytePtr returns the address of s's first byte. It is never nil, because the engine rejects a null pointer
// even if the length is zero.
func BytePtr(s string) *byte {
	if s == "" {
		return new(byte)
	}
	return unsafe.StringData(s) //nolint:gosec // G103: s is not empty, and the library only reads it
}
