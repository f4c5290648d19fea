// Package term is the program's only way to the terminal: results as tables, JSON and CSV, messages and progress, and
// the words for counts, sizes, durations and lists, which pages and reports use too. It knows no command, no stream and
// no warehouse: it is given columns, values, texts and counts.
//
// # Texts from outside are made visible
//
// Names and values of the API, bodies and headers that an error quotes, and what a statement returns may hold
// characters that control a terminal, change the direction of writing, forge a line, or cannot be seen. They are
// written as JSON writes them, \u001b or \n, for people and in JSON. Ordinary text of every script stays as it is.
// [Line] makes one line, [Text] keeps line breaks and tabs, [JSON] keeps the value of a document. [Writer] is the last
// check, and cannot tell whose a line break is: code that composes lines puts text from others through Line first. The
// only control sequences are those of a live [Console].
//
// # A result of any size needs little memory
//
// A [Printer] writes rows as they come, and keeps only a sample of them to choose widths. Columns keep their order in
// every format.
//
// # What is drawn never scrolls
//
// A frame is cut to the size of the terminal. If there is none, progress is reported by log lines.
//
// # A message is short
//
// It has one line for each thing that went wrong, none twice, and none longer than [MaxEcho].
package term
