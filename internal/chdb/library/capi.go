//go:build !noengine && (linux || darwin)

package chdb

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ptr is an opaque C pointer. The engine's memory is never Go memory, so the
// garbage collector has nothing to do with what it points to.
type ptr = unsafe.Pointer

// library is the C API of libchdb as Go functions. The types must match the C
// prototypes exactly: nothing checks them.
type library struct {
	setenv            func(name, value string, overwrite int32) int32
	setSignalHandlers func(int32)
	connect           func(argc int32, argv *ptr) ptr
	closeConn         func(connPtr ptr)

	query             func(c ptr, q *byte, ql uintptr, fmt *byte, fl uintptr) ptr
	queryParams       func(c ptr, q *byte, ql uintptr, fmt *byte, fl uintptr, names *ptr, nlens *uintptr, vals *ptr, vlens *uintptr, n uintptr) ptr
	streamQuery       func(c ptr, q *byte, ql uintptr, fmt *byte, fl uintptr) ptr
	streamQueryParams func(c ptr, q *byte, ql uintptr, fmt *byte, fl uintptr, names *ptr, nlens *uintptr, vals *ptr, vlens *uintptr, n uintptr) ptr
	streamFetch       func(c, stream ptr) ptr
	streamCancel      func(c, stream ptr)

	resultBuffer      func(ptr) ptr
	resultLength      func(ptr) uintptr
	resultError       func(ptr) string
	resultRowsRead    func(ptr) uint64
	resultRowsWritten func(ptr) uint64
	destroyResult     func(ptr)

	streamInsert       func(c ptr, q *byte, ql uintptr, fmt *byte, fl uintptr) ptr
	streamAppend       func(stream ptr, data *byte, n uintptr) int32
	streamDone         func(stream ptr) ptr
	streamCancelInsert func(stream ptr)
	streamInsertError  func(stream ptr) string
	destroyInsert      func(stream ptr)

	classify func(c ptr, q *byte, ql uintptr, db *byte, dl uintptr, out *[4]uint32) int32
}

// loadLibrary maps the shared library at path and resolves every symbol, so
// that a library of another version fails here and not in the middle of a query.
func loadLibrary(path string) (*library, error) {
	// RTLD_LOCAL keeps the engine's half a gigabyte of symbols to itself.
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	lib := &library{}
	setenv, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return nil, err
	}
	purego.RegisterFunc(&lib.setenv, setenv)
	for _, s := range []struct {
		fn   any
		name string
	}{
		{&lib.setSignalHandlers, "chdb_set_signal_handlers_enabled"},
		{&lib.connect, "chdb_connect"},
		{&lib.closeConn, "chdb_close_conn"},
		{&lib.query, "chdb_query_n"},
		{&lib.queryParams, "chdb_query_with_params_n"},
		{&lib.streamQuery, "chdb_stream_query_n"},
		{&lib.streamQueryParams, "chdb_stream_query_with_params_n"},
		{&lib.streamFetch, "chdb_stream_fetch_result"},
		{&lib.streamCancel, "chdb_stream_cancel_query"},
		{&lib.resultBuffer, "chdb_result_buffer"},
		{&lib.resultLength, "chdb_result_length"},
		{&lib.resultError, "chdb_result_error"},
		{&lib.resultRowsRead, "chdb_result_rows_read"},
		{&lib.resultRowsWritten, "chdb_result_rows_written"},
		{&lib.destroyResult, "chdb_destroy_query_result"},
		{&lib.streamInsert, "chdb_stream_insert_n"},
		{&lib.streamAppend, "chdb_stream_append"},
		{&lib.streamDone, "chdb_stream_done"},
		{&lib.streamCancelInsert, "chdb_stream_cancel_insert"},
		{&lib.streamInsertError, "chdb_stream_insert_error"},
		{&lib.destroyInsert, "chdb_destroy_insert_stream"},
		{&lib.classify, "chdb_classify_query_n"},
	} {
		sym, err := purego.Dlsym(handle, s.name)
		if err != nil {
			return nil, fmt.Errorf("symbol %s: %w", s.name, err)
		}
		purego.RegisterFunc(s.fn, sym)
	}
	return lib, nil
}

// open makes one more connection. argv is only read during the call. A nil
// result means that the engine refused, for reasons that only stderr tells.
func (l *library) open(args []string) ptr {
	var pins runtime.Pinner
	defer pins.Unpin()
	argv := make([]ptr, len(args))
	for i, a := range args {
		b := append([]byte(a), 0)
		pins.Pin(&b[0])
		argv[i] = ptr(&b[0])
	}
	pins.Pin(&argv[0])
	return l.connect(int32(len(argv)), &argv[0])
}

// param is one server-side query parameter.
type param struct{ name, value string }

// run calls query, or queryParams when there are parameters; stream chooses
// their streaming counterparts.
func (l *library) run(c ptr, query, format string, params []param, stream bool) ptr {
	q, f := bytePtr(query), bytePtr(format)
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
	names, values := make([]ptr, n), make([]ptr, n)
	nameLens, valueLens := make([]uintptr, n), make([]uintptr, n)
	for i := range params {
		np, vp := bytePtr(params[i].name), bytePtr(params[i].value)
		pins.Pin(np)
		pins.Pin(vp)
		names[i], nameLens[i] = ptr(np), uintptr(len(params[i].name))
		values[i], valueLens[i] = ptr(vp), uintptr(len(params[i].value))
	}
	call := l.queryParams
	if stream {
		call = l.streamQueryParams
	}
	return call(c, q, uintptr(len(query)), f, uintptr(len(format)),
		&names[0], &nameLens[0], &values[0], &valueLens[0], uintptr(n))
}

// bytes is the result's payload; it lives until the result is destroyed.
func (l *library) bytes(result ptr) []byte {
	n := l.resultLength(result)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(l.resultBuffer(result)), n) //nolint:gosec // G103: n bytes are what the library says the buffer has
}

// bytePtr is the address of s's first byte; never nil, since the engine
// rejects a null pointer even when the length is zero.
func bytePtr(s string) *byte {
	if s == "" {
		return new(byte)
	}
	return unsafe.StringData(s) //nolint:gosec // G103: s is not empty, and the library only reads it
}
