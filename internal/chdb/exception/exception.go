//go:build !noengine && (linux || darwin)

package chdb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Codes of ClickHouse that this package itself raises or maps.
const (
	codeBadArguments    = 36
	codeUnknownFunction = 46
	codeNotImplemented  = 48
	codeSyntaxError     = 62
	codeUnknownSetting  = 115
	codeReadonly        = 164
	codeQueryTooLarge   = 55
	codeTooManyQueries  = 202
	codeSocketTimeout   = 209
	codeQueryCancelled  = 394
	codeAccessDenied    = 497
	codeAuthFailed      = 516
	codeUnknownError    = 1002
	codeRequiredPasswrd = 194
)

// exception makes an error of the same type as those of a real server.
func exception(code int32, name, message string) *clickhouse.Exception {
	return &clickhouse.Exception{Code: code, Name: "DB::Exception", CodeName: name, Message: message}
}

// parseException reads the engine's only form of an error, its text, which
// always begins with "Code: N. ".
func parseException(text string) *clickhouse.Exception {
	e := exception(codeUnknownError, "UNKNOWN_EXCEPTION", text)
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
	// The symbolic name is the last parenthesis; only the code is relied upon.
	if i := strings.LastIndex(e.Message, "("); i >= 0 && strings.HasSuffix(e.Message, ")") {
		if name := e.Message[i+1 : len(e.Message)-1]; name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
			e.CodeName = name
			e.Message = strings.TrimSpace(e.Message[:i])
		}
	}
	return e
}

// exceptionText is the text a real server would send for e.
func exceptionText(e *clickhouse.Exception) string {
	s := fmt.Sprintf("Code: %d. %s: %s", e.Code, e.Name, e.Message)
	if e.CodeName != "" {
		s += " (" + e.CodeName + ")"
	}
	return s + "\n"
}
