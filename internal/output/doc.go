// Package output is the program's only way to the terminal: results as tables, JSON and CSV, messages, and progress. It
// knows no command, no stream and no warehouse: it is given columns, values, texts and counts. Texts from outside pass
// through package visible. Package wording formats words and numbers.
//
// Invariants, cited in the code as output-N:
//
//  1. Nothing that came from outside controls the terminal: all of it is made visible, and the only control sequences
//     are those of a live [Console].
//  2. A result of any size needs memory for a sample of its rows only: a [Printer] writes rows as they come. Columns
//     keep their order in every format.
//  3. What is drawn is drawn in place, and never scrolls: a frame is cut to the size of the terminal. If there is
//     none, nothing is drawn, and progress is reported by log lines.
//  4. A message is one line for each thing that went wrong, none of them twice, and none longer than visible.MaxEcho.
package output
