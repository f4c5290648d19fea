// Package config turns a TOML file and the environment into a validated configuration.
//
// Every key is described once, in keys.go: its name, the tables it may stand in, its type with its bounds, its default,
// what it means and where its value goes. Strict decoding, environment variables, inheritance ([defaults] to
// [[account]] to [account.streams.*]), error messages and the text of config.example.toml follow from that description.
// Which streams there are, which of the keys they have and what their defaults are is read from the catalog.
//
// The way of a configuration:
//
//	file -> tree (tree.go) <- environment (env.go)
//	tree -> walk by the schema (walk.go) -> values -> build (build.go) -> Config
//
// # Invariants
//
// They are cited in the code as config-N.
//
//  1. A Config exists only after validation: Load is the only maker, the raw form (node, values) is unexported, and no
//     two Configs share memory.
//  2. Every problem is reported in one go, in the order of the file, with line and column or the name of the
//     environment variable. Only a file that is no TOML is reported alone. The error of Load is always a *Problems.
//  3. No error, warning or printed value ever shows a secret: neither an API key nor the password of a DSN, whether
//     good or bad, and wherever it came from.
//  4. Nothing is ignored: an unknown key, a key in a table where it has no meaning and an unknown DEALHOUSE_ variable
//     are problems.
//  5. Load depends on its Source only: it reads no global state, and two calls with the same Source and the same files
//     give the same answer.
package config
