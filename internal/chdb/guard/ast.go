package guard

import (
	"fmt"
	"regexp"
	"strings"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/exception"
)

// node is one line of EXPLAIN AST: a statement as the engine's own parser sees it.
type node struct {
	kind     string // its first word
	text     string // what follows, without the alias and the number of children
	alias    string
	children []*node
}

// nodeTail matches what may end a line: an alias, and the number of children.
var nodeTail = regexp.MustCompile(`(?: \(alias (.*?)\))?(?: \(children \d+\))?$`)

// parseAST reads the output of EXPLAIN AST, whose lines are indented by their depth. No name in the statement may have
// a line break in it, or the name could pose as a line.
func parseAST(out string) (*node, error) {
	root := &node{}
	path := []*node{root}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		rest := strings.TrimLeft(line, " ")
		depth := len(line) - len(rest)
		if rest == "" {
			continue
		}
		if depth >= len(path) {
			return nil, exception.New(exception.SyntaxError, "SYNTAX_ERROR", "the query's structure is not understood")
		}
		n := &node{}
		tail := nodeTail.FindStringSubmatchIndex(rest)
		if tail[2] >= 0 {
			n.alias = rest[tail[2]:tail[3]]
		}
		n.kind, n.text, _ = strings.Cut(rest[:tail[0]], " ")
		path = append(path[:depth+1], n)
		path[depth].children = append(path[depth].children, n)
	}
	if len(root.children) != 1 {
		return nil, exception.New(exception.SyntaxError, "SYNTAX_ERROR", "the query's structure is not understood")
	}
	return root.children[0], nil
}

// Statements, by the kind of their root.
var (
	readKinds = words(`DescribeQuery ExistsDatabaseQuery ExistsTableQuery ExistsViewQuery Explain SelectIntersectExceptQuery
 SelectQuery SelectWithUnionQuery ShowColumns ShowCreateDatabaseQuery ShowCreateTableQuery ShowCreateViewQuery ShowEngineQuery ShowFunctions
 ShowIndexes ShowSetting ShowTables`)
	writeKinds = words(`AlterQuery CheckQuery CreateQuery CreateSQLFunctionQuery DeleteQuery DropFunctionQuery DropQuery InsertQuery OptimizeQuery
 Rename Set TruncateQuery UpdateQuery UseQuery`)
	explainKinds = words("EXPLAIN EXPLAIN_AST EXPLAIN_ESTIMATE EXPLAIN_PIPELINE EXPLAIN_QUERY_TREE EXPLAIN_SYNTAX")
	alterKinds   = words(`ADD_COLUMN ADD_CONSTRAINT ADD_INDEX ADD_PROJECTION ADD_STATISTICS CLEAR_COLUMN CLEAR_INDEX CLEAR_PROJECTION COMMENT_COLUMN COMMENT_TABLE
 APPLY_DELETED_MASK APPLY_PATCHES DELETE DROP_COLUMN DROP_CONSTRAINT DROP_INDEX DROP_PARTITION DROP_PROJECTION DROP_STATISTICS MATERIALIZE_COLUMN
 MATERIALIZE_INDEX MATERIALIZE_PROJECTION MATERIALIZE_STATISTICS MATERIALIZE_TTL MODIFY_COLUMN MODIFY_COMMENT MODIFY_DATABASE_COMMENT
 MODIFY_ORDER_BY MODIFY_QUERY MODIFY_SETTING MODIFY_STATISTICS MODIFY_TTL MOVE_PARTITION REMOVE_TTL RENAME_COLUMN REPLACE_PARTITION RESET_SETTING UPDATE`)
	// innerKinds are all other nodes that are allowed. The tree shows all that such a node holds, or it holds nothing
	// that runs. Any other node may hide something.
	innerKinds = words(`AlterCommand Assignment Asterisk ColumnDeclaration Columns ColumnsApplyTransformer ColumnsExceptTransformer ColumnsListMatcher
 ColumnsRegexpMatcher ColumnsReplaceTransformer ColumnsReplaceTransformer::Replacement ColumnsTransformerList Constraint DataType ExpressionList
 Function Identifier Index InterpolateElement Literal NameTypePair OrderByElement Partition_ID Partition Projection ProjectionSelectQuery QualifiedAsterisk
 QualifiedColumnsListMatcher QualifiedColumnsRegexpMatcher RatioElement SampleRatio Refresh Set Stat Storage StorageOrderByElement
 Subquery TTLElement TableExpression TableIdentifier TableJoin TableOverride TablesInSelectQuery TablesInSelectQueryElement ArrayJoin TimeInterval
 View ViewTargets WindowDefinition WindowListElement WithElement NameTypePair ObjectTypeArgument EnumDataType TupleDataType`)
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// judge walks through a statement and refuses what the lists do not allow. It collects names that are on no list in
// x.unknown: they may be functions and views that a user has made.
func (x *examination) judge(root *node) error {
	switch {
	case readKinds[root.kind]:
	case !x.readOnly && writeKinds[root.kind]:
	case x.readOnly && (writeKinds[root.kind] || x.class != conn.ClassRead):
		return ErrReadOnly
	default:
		return denied("a statement of the kind %s is not allowed here", root.kind)
	}
	x.lambdas = map[string]bool{}
	root.eachAlias(func(n *node) {
		if n.kind == "Function" && n.text == "lambda" {
			x.lambdas[n.alias] = true
		}
	})
	return x.visit(root, nil)
}

func (n *node) eachAlias(f func(*node)) {
	if n.alias != "" {
		f(n)
	}
	for _, c := range n.children {
		c.eachAlias(f)
	}
}

func (x *examination) visit(n, parent *node) error {
	if err := x.visitOne(n, parent); err != nil {
		return err
	}
	for _, c := range n.children {
		if err := x.visit(c, n); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) visitOne(n, parent *node) error {
	switch n.kind {
	case "Function":
		return x.call(n, parent)
	case "Literal":
		return literal(n.text)
	case "TableIdentifier", "Identifier":
		// The engine's database "default" includes the file system: a name that is a path would show
		// whether that file exists.
		if isPath.MatchString(n.text) || n.kind == "TableIdentifier" && strings.Contains(n.text, "/") {
			return denied("a name that is a path is not allowed here: %s", n.text)
		}
		if table, ok := strings.CutPrefix(n.text, "system."); ok && n.kind == "TableIdentifier" {
			return systemTable(table)
		}
		return nil
	case "Explain":
		if kind := strings.ReplaceAll(n.text, " ", "_"); !explainKinds[kind] {
			return denied("%s is not allowed here", n.text)
		}
	case "AlterCommand":
		if !alterKinds[n.text] {
			return denied("ALTER with %s is not allowed here", strings.ReplaceAll(n.text, "_", " "))
		}
	case "CreateQuery":
		for _, c := range n.children {
			if c.kind == "Dictionary" {
				return denied("dictionaries are not allowed here")
			}
		}
	case "ColumnsApplyTransformer":
		x.apply = true
	}
	if parent != nil && !innerKinds[n.kind] && !readKinds[n.kind] {
		return denied("a statement with %s %s in it is not allowed here", n.kind, n.text)
	}
	return nil
}

// call judges a name with arguments. What is allowed depends on its place in the tree.
func (x *examination) call(n, parent *node) error {
	switch {
	case parent == nil:
	case parent.kind == "TableExpression" || parent.kind == "InsertQuery" || parent.kind == "CreateQuery" ||
		parent.kind == "Explain":
		return x.tableFunction(n)
	case parent.kind == "Storage" && parent.children[0] == n && allow.All().Engines[strings.ToLower(n.text)].Name != "":
		if !allow.All().Engines.Allows(n.text) {
			return denied("the engine %s is not allowed here", n.text)
		}
		return nil
	case (parent.kind == "Index" || parent.kind == "Stat" || parent.kind == "ColumnDeclaration" ||
		parent.kind == "ExpressionList") && allow.InDefinitions[strings.ToLower(n.text)] && x.defines:
		return nil
	}
	e, ok := allow.All().Function(n.text)
	if !ok {
		if !x.lambdas[n.text] {
			x.unknown = append(x.unknown, unknownName{name: n.text})
		}
		return nil
	}
	if e.Sign != 0 {
		return denied("the function %s is not allowed here", n.text)
	}
	return arguments(n, e)
}

// tableFunction judges a name with arguments in the place of a table: a table function, or a view with parameters.
func (x *examination) tableFunction(n *node) error {
	name := n.text
	e, ok := allow.All().TableFunctions[strings.ToLower(name)]
	switch {
	case !ok:
		x.unknown = append(x.unknown, unknownName{name: name, table: true})
		return nil
	case e.Sign == '+' && n.ofTuples():
		return nil
	case e.Sign != 0:
		return denied("the table function %s is not allowed here", name)
	}
	return nil
}

// ofTuples tells whether the first argument is a tuple that is written out. Then the engine takes no text as the
// structure of a table. A call of tuple() would not do: the statement may have a function of that name.
func (n *node) ofTuples() bool {
	if len(n.children) == 0 || len(n.children[0].children) == 0 {
		return false
	}
	first := n.children[0].children[0]
	return first.kind == "Literal" && strings.HasPrefix(first.text, "Tuple_(")
}

// isIn matches IN and its variants. Their right side may be a table function.
var isIn = regexp.MustCompile(`(?i)^(global)?(not)?(null)?in(ignoreset)?$`)

// arguments judges the arguments of a call of an allowed function.
func arguments(n *node, e allow.Entry) error {
	var args []*node
	if len(n.children) > 0 {
		args = n.children[0].children
	}
	if isIn.MatchString(n.text) && len(args) == 2 && args[1].kind == "Function" &&
		allow.All().TableFunctions[strings.ToLower(args[1].text)].Sign != 0 {
		return denied("the table function %s is not allowed here", args[1].text)
	}
	if e.Higher && len(args) > 0 && args[0].kind == "Identifier" {
		if f, ok := allow.All().Function(args[0].text); ok && (f.Sign != 0 || f.Zone >= 0 || f.HasType) {
			return denied("%s cannot be given to %s by its name here, write x -> %s(x)", args[0].text, n.text, args[0].text)
		}
	}
	if e.Zone >= 0 {
		for _, a := range args[min(e.Zone, len(args)):] {
			if !a.writtenOut() {
				return denied("%s takes a time zone only as a literal, not as an expression", n.text)
			}
		}
	}
	if e.HasType && len(args) > 0 {
		i := e.Type
		if i == allow.LastArgument {
			i = len(args) - 1
		}
		if i < len(args) && (args[i].kind != "Literal" || !strings.HasPrefix(args[i].text, "'") ||
			strings.Contains(args[i].text, `\\`)) {
			return denied("%s takes a type only as a literal, not as an expression", n.text)
		}
	}
	return nil
}

var isPath = regexp.MustCompile(`(^|\.)/|\.\./`)

// notText matches functions that never return a text. So they are allowed where a time zone could be.
var notText = regexp.MustCompile(`(?i)^(to(date|datetime|time|interval|u?int|startof)\w*|now|now64|today|yesterday|makedate\w*|plus|minus|multiply|divide|negate)$`)

// writtenOut tells whether n is a literal, or a call that never returns a text. Then the engine can read no text from n
// except the one that is written there.
func (n *node) writtenOut() bool {
	switch n.kind {
	case "Literal":
		return true
	case "Function":
		return notText.MatchString(n.text)
	}
	return false
}

// literal refuses texts that the engine would read as the name of a time zone's file, alone or within a type. Opening
// such a file may wait forever.
func literal(text string) error {
	if strings.Contains(text, `'file:`) || strings.Contains(text, `"file:`) {
		return denied("a text that begins with file: is not allowed here, since it can name a file as a time zone")
	}
	return nil
}

func systemTable(name string) error {
	if allow.All().SystemTables.Allows(strings.Trim(name, "`")) {
		return nil
	}
	return denied("the table system.%s is not allowed here", name)
}

// denied returns the error for a statement that is well-formed but not allowed.
func denied(format string, args ...any) error {
	return exception.New(exception.AccessDenied, "ACCESS_DENIED", fmt.Sprintf(format, args...)+allow.Where)
}
