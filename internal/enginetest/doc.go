// Package enginetest is the harness of tests that need the embedded engine. Only tests import it.
//
// A process can have one engine, which takes a second to start, and a migrated database costs more than most tests that
// use it. So a test binary starts the engine once, in Main, and its tests share a few migrated databases, in Open.
// Tests can rely on the following:
//
//  1. A database belongs to one test until the test ends, and is empty when the test gets it.
//  2. If a test has changed the schema, the changed parts are made again. If the database is still not what it was, or
//     if its test failed, it is dropped, and no other test gets it.
//  3. A child process has the engine to itself, in a folder of its own, and may be killed at any time.
//  4. When all tests of a binary have passed, none of their goroutines is left.
package enginetest
