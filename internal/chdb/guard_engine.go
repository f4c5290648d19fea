//go:build !noengine && (linux || darwin)

package chdb

import (
	"context"
	"encoding/binary"
	"strings"
)

// errReadOnly is the answer to everything but one plain read.
var errReadOnly = exception(codeReadonly, "READONLY",
	"this door is read-only: it takes one SELECT, SHOW, DESCRIBE, EXISTS or EXPLAIN, without INTO OUTFILE and without other systems")

// hostNames are names that reach the host, or run text as a query, and that the
// engine guards with no right (chdb-7). Embedded, file() as a function reads any
// path, INTO OUTFILE writes one, and some table engines open directories or
// start commands. A disk may be a directory or an address, backups go to s3 and
// its like, and the catalogs of data lakes are addresses.
var hostNames = map[string]bool{
	"file":             true,
	"infile":           true,
	"outfile":          true,
	"filelog":          true,
	"queryrunner":      true,
	"arrowstream":      true,
	"embeddedrocksdb":  true,
	"eval":             true,
	"executable":       true,
	"executablepool":   true,
	"catboostevaluate": true,
	"showcertificate":  true,
	"disk":             true,
	"s3":               true,
	"azureblobstorage": true,
	"datalakecatalog":  true,
	"aiclassify":       true,
	"aiembed":          true,
	"aiextract":        true,
	"aigenerate":       true,
	"aitranslate":      true,
	valuesInterpret:    true,
	valuesTemplates:    true,
}

// Settings that let the values of an INSERT be expressions. Nobody looks into
// data for names, so where data is read they are off, and not a query's to set.
const (
	valuesInterpret = "input_format_values_interpret_expressions"
	valuesTemplates = "input_format_values_deduce_templates_of_expressions"
)

// sqlTokens splits a query with the engine's own lexer, so that no comment,
// quoting or heredoc can hide a name. The kinds are asked for by name, since
// their numbers are the lexer's own affair.
//
//nolint:gosec // G101: a query; its tokens are words of SQL
const sqlTokens = `SELECT t.1, t.2, toString(t.3) FROM
 (SELECT arrayJoin(tokenizeQuery({q:String})) AS t) WHERE t.3 NOT IN ('Whitespace', 'Comment')`

// examine refuses a text that names what must not be reached. It runs on a
// connection of its own, where none of the client's settings can hide a token.
func (in *instance) examine(ctx context.Context, sql string) error {
	c, err := in.examiners.get(ctx, "", nil)
	if err != nil {
		return err
	}
	defer in.examiners.put(c)
	return c.guard(sql)
}

// guard refuses a text that names what must not be reached.
func (c *conn) guard(sql string) error {
	b, err := c.buffered(sqlTokens, "RowBinary", []param{{"q", escapeParam(sql)}})
	if err != nil {
		return err
	}
	for last := ""; len(b) > 0; {
		var text, kind string
		if text, kind, b, err = nextToken(sql, b); err != nil {
			return err
		}
		switch kind {
		case "BareWord", "QuotedIdentifier":
			if last, err = guardedName(text, kind != "BareWord"); err != nil {
				return err
			}
		case "OpeningRoundBracket":
			if last == "format" {
				if err := c.guardFormat(sql); err != nil {
					return err
				}
			}
			last = ""
		case "Equals":
			if last == "readonly" {
				return exception(codeReadonly, "READONLY", "Cannot modify 'readonly' setting in readonly mode")
			}
			last = ""
		default:
			if strings.HasPrefix(kind, "Error") {
				if err := c.syntaxError(sql); err != nil {
					return err
				}
				return exception(codeSyntaxError, "SYNTAX_ERROR", "Syntax error: a token is not understood: "+text)
			}
			last = ""
		}
	}
	return nil
}

// guardFormat allows format() only where the query runs here and now, and reads.
// As a table function it makes data of a text, and a view that holds it, or an
// INSERT with values, does so where those may be expressions.
func (c *conn) guardFormat(sql string) error {
	v, err := c.classify(sql)
	if err != nil {
		return err
	}
	if v.class != classRead {
		return exception(codeAccessDenied, "ACCESS_DENIED", "format() is only allowed in a SELECT here: use concat() or printf()")
	}
	return nil
}

// nextToken reads one row of sqlTokens' answer.
func nextToken(sql string, b []byte) (text, kind string, rest []byte, err error) {
	const numbers = 16
	if len(b) > numbers {
		begin, end := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		n, k := binary.Uvarint(b[numbers:])
		from := numbers + k
		if k > 0 && n <= uint64(len(b)-from) && begin <= end && end <= uint64(len(sql)) {
			return sql[begin:end], string(b[from : from+int(n)]), b[from+int(n):], nil
		}
	}
	return "", "", nil, exception(codeSyntaxError, "SYNTAX_ERROR", "the query could not be split into tokens")
}

// guardedName is the name that a token stands for, in lower case.
func guardedName(text string, quoted bool) (string, error) {
	if quoted {
		if strings.Contains(text, `\`) {
			return "", exception(codeAccessDenied, "ACCESS_DENIED", "a name with an escape sequence is not allowed here: "+text)
		}
		// The lexer also takes typographic quotes.
		text = strings.Trim(text, "`\"“”")
	}
	name := strings.ToLower(text)
	if hostNames[name] {
		return "", exception(codeAccessDenied, "ACCESS_DENIED",
			"the name "+text+" is not allowed here, since it can reach the files or the network of the host")
	}
	return name, nil
}

// readerSettings are the beginnings of the settings that a reader may choose:
// limits, and how results look.
var readerSettings = []string{
	"add_http_cors_header", "bool_false_representation", "bool_true_representation",
	"cancel_http_readonly_queries_on_client_close", "connect_timeout", "date_time_",
	"distinct_overflow_mode", "empty_result_for_aggregation_by_empty_set", "enable_http_compression",
	"extremes", "final", "format_csv_", "format_tsv_", "group_by_", "http_", "join_", "limit", "log_comment",
	"log_queries", "max_", "network_compression_method", "network_zstd_compression_level", "offset", "optimize_",
	"output_format_", "prefer_column_name_to_alias", "priority", "query_cache_ttl", "read_overflow_mode",
	"receive_timeout", "result_overflow_mode", "send_progress_in_http_headers", "send_timeout",
	"session_timezone", "sort_overflow_mode", "timeout_before_checking_execution_speed", "timeout_overflow_mode",
	"transform_null_in", "use_query_cache", "use_uncompressed_cache",
}

// confine makes the request a read-only one.
func (r *request) confine() error {
	r.readOnly, r.guarded = true, true
	// It is read-only anyhow; a client that asks for it must not be refused.
	if v := r.settings["readonly"]; v == "1" || v == "2" {
		delete(r.settings, "readonly")
	}
	return checkReaderSettings(r.settings)
}

// checkReaderSettings refuses settings that are not on the list; an unknown one
// passes if its name looks right, and the engine refuses it.
func checkReaderSettings(settings map[string]string) error {
next:
	for name := range settings {
		for _, prefix := range readerSettings {
			if strings.HasPrefix(name, prefix) && name != "output_format_schema" && !concernsOthers(name) {
				continue next
			}
		}
		return exception(codeReadonly, "READONLY", "Cannot modify '"+name+"' setting in readonly mode")
	}
	return nil
}

// concernsOthers finds limits that count the queries of others too. There is one
// user, so that the program's own would be stopped by them.
func concernsOthers(setting string) bool {
	return strings.HasSuffix(setting, "_for_user") || strings.HasSuffix(setting, "_for_all_users")
}
