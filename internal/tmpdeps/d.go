package tmpdeps

import (
	_ "github.com/ClickHouse/clickhouse-go/v2"
	_ "github.com/ClickHouse/ch-go/compress"
	_ "github.com/ClickHouse/ch-go/proto"
	_ "github.com/cenkalti/backoff/v4"
	_ "github.com/ebitengine/purego"
	_ "github.com/go-faster/jx"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/pelletier/go-toml/v2/unstable"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/robfig/cron/v3"
	_ "github.com/shopspring/decimal"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/time/rate"
)
