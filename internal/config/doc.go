// Package config turns a TOML file and the environment into a validated configuration.
//
// Every key is described once, in keys.go: its name, the tables in which it may appear, its type with its limits, its
// default, its meaning, and where its value goes. Strict decoding, environment variables, inheritance ([defaults] to
// [[account]] to [account.streams.*]), error messages and the text of config.example.toml are derived from that
// description. The names of the streams, their keys and their defaults come from the catalog. What a receiver may be
// comes from package receiver.
//
// How a configuration is read:
//
//	file -> tree (tree.go) <- environment (env.go)
//	tree -> walk by the schema (schema.go) -> values -> build (build.go) -> Config
//
// # Invariants
//
// They are cited in the code as config-N.
//
//  1. A Config exists only after validation: only Load creates one, the raw form (node, values) is unexported, and no
//     two Configs share memory.
//  2. All problems are reported at once, in the order of the file, with line and column or the name of the environment
//     variable. Only a file that is not TOML is reported alone. The error of Load is always a *Problems.
//  3. No error, warning or printed value ever shows a secret: neither an API key nor the password of a DSN, whether
//     valid or not, and wherever it came from.
//  4. Nothing is ignored: an unknown key, a key in a table where it has no meaning, and an unknown DEALHOUSE_ variable
//     are problems.
//  5. Load depends only on its Source: it reads no global state, and two calls with the same Source and the same files
//     give the same result.
package config
