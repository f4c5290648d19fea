package main

// What is made of something else is made anew by `go generate ./...`, in this order: what comes first goes into what
// follows. The tests of the same names fail where it was not done. Read the difference before you commit it.

//go:generate go test ../../internal/catalog -count 1 -run TestFieldsAreAppended -update
//go:generate go test ../../internal/config -count 1 -run "TestExampleFileIsCurrent|TestEverythingWrong" -update
//go:generate go test ../../internal/warehouse -count 1 -run "Statements$|TestEveryStatementSent|TestGenerationRises" -update
//go:generate go test ../../internal/daemon -count 1 -run TestReadmeMetrics -update
//go:generate env TEST_SAMPLE=wide go test ../../internal/payouts -count 1 -run TestYear -update
//go:generate env TEST_SAMPLE=wide go test . -count 1 -run "TestSchema|TestReconcile$" -update
//go:generate go -C ../../deploy/test test . -count 1 -run TestPrometheusRule -update
