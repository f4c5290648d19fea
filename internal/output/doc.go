// Package output is the program's one way to the terminal: results as tables, JSON and CSV, messages, and the progress
// of what goes on. It knows no command, no stream and no warehouse: it is given columns, values, texts and counts. What
// others wrote passes package visible on its way; words and numbers are those of package wording.
//
// Invariants, cited in the code as output-N:
//
//  1. Nothing that came from outside steers the terminal: all of it is made visible, and the only control sequences are
//     those of a live [Console].
//  2. A result takes memory for a sample of its rows at most, however many there are: a [Printer] writes as they come.
//     Columns keep their order in every format.
//  3. What is drawn is drawn in place, and never scrolls: a frame is cut to the size of the terminal. Where there is
//     none, nothing is drawn, and progress is told by log lines.
//  4. A message is one line for each thing that went wrong, none of them twice, and none longer than visible.MaxEcho.
package output
