package engine

import (
	"math"

	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/exception"
)

// Settle prepares the settings of a stranger's query: those that its text names go beside it, and limits above the
// engine's own are lowered to these. It returns each limit that holds instead of the one that was asked for. Nothing
// about safety depends on it: the guard judges the settings and the text that are left, and the engine itself refuses
// higher limits.
func (e *Engine) Settle(q *Query) (lowered []string) {
	q.liftSettings()
	most := bounds(e.in.limits)
	lowered = q.lower(most)
	if e.in.limitReaders { // the profile of readers has no values
		for name, value := range most {
			if _, asked := q.Settings[name]; !asked {
				q.set(name, strconv.FormatFloat(value, 'f', -1, 64))
			}
		}
	}
	return lowered
}

// errReset refuses what would lift a limit that is a setting of the query.
var errReset = exception.New(exception.Readonly, "READONLY",
	"a setting cannot be set to DEFAULT here: leave it out")

var (
	settingsWord = regexp.MustCompile(`(?i)\bSETTINGS\b`)
	defaultWord  = regexp.MustCompile(`(?i)\bDEFAULT\b`)
)

// resetsLimit tells whether a text may set something to DEFAULT, anywhere: where it has both words, but for the name of
// a database before a dot or in quotes. It looks at the bytes and not at tokens, because the engine's own parser knows
// more spaces, quotes and comments than the scanner. A text that only mentions both words is refused too.
func resetsLimit(sql string) bool {
	if !settingsWord.MatchString(sql) {
		return false
	}
	return slices.ContainsFunc(defaultWord.FindAllStringIndex(sql, -1), func(at []int) bool {
		quoted := at[0] > 0 && strings.ContainsRune("'\"`", rune(sql[at[0]-1]))
		return !quoted && !strings.HasPrefix(strings.TrimLeft(sql[at[1]:], " \t\r\n"), ".")
	})
}

// overflowModes are the settings that say what happens at a limit of the result.
var overflowModes = map[string]string{
	maxExecutionTime: timeoutOverflowMode, maxResultBytes: resultOverflowMode, "max_result_rows": resultOverflowMode,
}

const (
	maxResultBytes     = "max_result_bytes"
	resultOverflowMode = "result_overflow_mode"
)

// bounds returns the highest value that a query may ask for, by the name of the setting. Zero is no limit, and so
// higher than any.
func bounds(l contract.Limits) map[string]float64 {
	seconds := float64(int64(l.Time.Seconds()))
	all := map[string]float64{
		"max_memory_usage": float64(l.QueryMemory), maxExecutionTime: seconds, "max_execution_time_leaf": seconds,
		maxResultBytes: float64(l.ResultBytes), "max_result_rows": float64(l.ResultRows), "max_threads": float64(l.Threads),
	}
	if l != (contract.Limits{}) {
		for _, s := range fixedLimits {
			if allow.All().Settings.Allows(s.name) {
				all[s.name], _ = strconv.ParseFloat(s.value, 64)
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, most float64) bool { return most == 0 })
	return all
}

// lower leaves out every limit that is higher than the engine's own, which then holds. A query that asks to be broken
// off silently at its own limit must not be broken off so at a lower one: part of a result would look like all of it.
func (q *Query) lower(most map[string]float64) (lowered []string) {
	for _, name := range slices.Sorted(maps.Keys(q.Settings)) {
		asked, ok := number(q.Settings[name])
		if !ok || most[name] == 0 || asked > 0 && asked <= most[name] {
			continue
		}
		q.Settings = maps.Clone(q.Settings)
		delete(q.Settings, name)
		lowered = append(lowered, name+"="+strconv.FormatFloat(most[name], 'f', -1, 64))
		if mode := overflowModes[name]; q.Settings[mode] == overflowBreaks {
			delete(q.Settings, mode)
			lowered = append(lowered, mode+"=throw")
		}
	}
	return lowered
}

// number reads the value of a limit, such as 1e6, 10G or 2Gi. For the last, it returns a little less.
func number(text string) (n float64, ok bool) {
	if text == "auto" {
		return 0, true
	}
	digits := strings.TrimRight(text, "kKMGTi")
	n, err := strconv.ParseFloat(digits, 64)
	if digits != text {
		n *= math.Pow(1000, float64(strings.Index("KMGT", strings.ToUpper(text)[len(digits):][:1])+1))
	}
	return n, err == nil && n >= 0
}

// settled are the statements whose SETTINGS clause stands for the whole query. In others, such as CREATE TABLE, it has
// another meaning.
var settled = regexp.MustCompile(`(?i)^(SELECT|WITH|FROM|EXPLAIN|DESCRIBE|DESC|SHOW|EXISTS|INSERT)$`)

// liftSettings moves the settings of the outermost SETTINGS clause from the text to Settings, where they mean the same.
// A clause with anything but plain values stays where it is, and so does one that is not at the end.
func (q *Query) liftSettings() {
	z := scanner{s: q.SQL}
	tok := z.next()
	for tok == "(" {
		tok = z.next()
	}
	if !settled.MatchString(tok) {
		return
	}
	insert := strings.EqualFold(tok, "INSERT")
	for depth := 0; tok != ""; {
		before := z.pos
		switch tok = z.next(); {
		case tok == "(" || tok == "[" || tok == "{":
			depth++
		case tok == ")" || tok == "]" || tok == "}":
			depth--
		case insert && depth == 0 && isAny(tok, "VALUES", "FORMAT"):
			return // data follow
		case strings.EqualFold(tok, "SETTINGS") && depth <= 0:
			if given, ok := z.plainSettings(insert); ok {
				for name, value := range given {
					q.set(name, value)
				}
				// Places in the text stay the same, so that errors point to the right one.
				q.SQL = q.SQL[:before] + blank.ReplaceAllString(q.SQL[before:z.pos], " ") + q.SQL[z.pos:]
			}
		}
	}
}

// blank matches each character of a text but line breaks.
var blank = regexp.MustCompile(`[^\n]`)

// plainSettings reads the rest of a SETTINGS clause up to its end: names with plain values. ok is false if it has
// anything else, or if the query goes on after it. The scanner only moves if ok.
func (z *scanner) plainSettings(insert bool) (given map[string]string, ok bool) {
	given = map[string]string{}
	for y := *z; ; {
		name := y.peekWord()
		y.next()
		if name == "" || y.next() != "=" {
			return nil, false
		}
		m := plainValue.FindStringSubmatch(y.s[y.pos:])
		if m == nil || strings.EqualFold(m[1], "DEFAULT") {
			return nil, false
		}
		y.pos += len(m[0])
		given[name] = strings.Trim(m[1], "'")
		end := y
		switch next := y.next(); {
		case next == ",":
		case next == "", next == ";", next == ")", isAny(next, "FORMAT", "INTO"),
			insert && (next == "(" || isAny(next, "VALUES", "SELECT", "WITH")):
			*z = end
			return given, true
		default:
			return nil, false
		}
	}
}

// plainValue matches a number, a word, or a text without escapes.
var plainValue = regexp.MustCompile(`^\s*(\+?[\w.]+|'[^'\\]*')`)
