// Package enginetest is the harness of tests that need the embedded engine. Only tests import it.
//
// A process can have one engine, which takes a second to start, and a migrated database costs more than most tests that
// use it. So a test binary starts the engine once, in Main, and its tests share a few migrated databases, in Open.
// Tests can rely on the following:
//
//  1. A database belongs to one test until that ends, and is empty when the test gets it.
//  2. What a test has changed of a schema is made anew. A database that is not what it was then, or whose test failed,
//     is dropped and never handed on.
//  3. A child process has the engine to itself, in a folder of its own, and may be killed at any time.
//  4. When all tests of a binary have passed, no goroutine of theirs is left.
package enginetest
