package warehouse

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Codes by which ClickHouse says that a user may not do something.
const (
	codeReadOnly     = 164
	codeAccessDenied = 497
)

// hasCode reports whether err is an answer of the warehouse with one of the codes.
func hasCode(err error, codes ...int32) bool {
	e, ok := errors.AsType[*clickhouse.Exception](err)
	return ok && slices.Contains(codes, e.Code)
}

// IsAuth reports whether the warehouse refused the credentials, or what they permit.
func IsAuth(err error) bool {
	if answer, ok := errors.AsType[*clickhouse.HTTPError](err); ok && answer.StatusCode == http.StatusUnauthorized {
		return true // an old server, or a proxy in front of one
	}
	// UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, AUTHENTICATION_FAILED
	return IsDenied(err) || hasCode(err, 192, 193, 194, 516)
}

// IsDenied reports that the user has no right to do what a statement does.
func IsDenied(err error) bool { return hasCode(err, codeAccessDenied) }

// IsReadOnly reports that the warehouse accepts no writes from this user, or through this connection.
func IsReadOnly(err error) bool { return hasCode(err, codeReadOnly) }

// IsSettingRefused reports that the user may not change a setting that the program depends on.
func IsSettingRefused(err error) bool {
	return IsReadOnly(err) || hasCode(err, 452, 115) // SETTING_CONSTRAINT_VIOLATION, UNKNOWN_SETTING
}

// IsMissing reports whether err says that a table or database does not exist (yet).
func IsMissing(err error) bool { return hasCode(err, 60, 81) } // UNKNOWN_TABLE, UNKNOWN_DATABASE
