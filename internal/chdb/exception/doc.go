// Package exception makes and reads errors in the form that ClickHouse gives them: a code, a symbolic name and a text.
// Clients of the embedded engine cannot tell them from those of a server. They are classified by their code alone.
package exception
