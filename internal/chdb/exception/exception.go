package exception

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Codes of ClickHouse's errors that the packages of chdb make or compare.
const (
	BadArguments     = 36
	UnknownFunction  = 46
	NotImplemented   = 48
	SyntaxError      = 62
	UnknownSetting   = 115
	TimeoutExceeded  = 159
	Readonly         = 164
	QueryTooLarge    = 55
	TooManyQueries   = 202
	SocketTimeout    = 209
	NetworkError     = 210
	MemoryLimit      = 241
	QueryCancelled   = 394
	TooManyRows      = 396 // or bytes
	AccessDenied     = 497
	AuthFailed       = 516
	Unknown          = 1002
	PasswordRequired = 194
)

// New makes an error of the same type as those of a real server.
func New(code int32, name, message string) *clickhouse.Exception {
	return &clickhouse.Exception{Code: code, Name: "DB::Exception", CodeName: name, Message: message}
}

// Parse makes an error of its text, the only form in which the engine returns errors. The text always
// begins with "Code: N. ".
func Parse(text string) *clickhouse.Exception {
	e := New(Unknown, "UNKNOWN_EXCEPTION", text)
	rest, ok := strings.CutPrefix(text, "Code: ")
	if !ok {
		return e
	}
	digits, rest, ok := strings.Cut(rest, ". ")
	if !ok {
		return e
	}
	code, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || code <= 0 {
		return e
	}
	e.Code, e.CodeName = int32(code), ""
	if name, message, ok := strings.Cut(rest, ": "); ok && !strings.ContainsAny(name, " \t\n") {
		e.Name, rest = name, message
	}
	e.Message = strings.TrimSpace(rest)
	// The symbolic name is in the last parentheses. It decides nothing: only the code is used.
	if i := strings.LastIndex(e.Message, "("); i >= 0 && strings.HasSuffix(e.Message, ")") {
		if name := e.Message[i+1 : len(e.Message)-1]; name != "" &&
			strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
			e.CodeName = name
			e.Message = strings.TrimSpace(e.Message[:i])
		}
	}
	return e
}

// Text returns the text that a real server would send for e.
func Text(e *clickhouse.Exception) string {
	s := fmt.Sprintf("Code: %d. %s: %s", e.Code, e.Name, e.Message)
	if e.CodeName != "" {
		s += " (" + e.CodeName + ")"
	}
	return s + "\n"
}
