package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/chdb"
)

// table is that of everyone but dealhouse: rows replace each other when they are merged.
const plainTable = `CREATE TABLE IF NOT EXISTS transactions
(
    id UUID, country LowCardinality(String), activatedAt Nullable(DateTime64(3, 'UTC')), clickedAt Nullable(DateTime64(3, 'UTC')),
    soldAt Nullable(DateTime64(3, 'UTC')), updatedAt DateTime64(3, 'UTC'), currencyCode LowCardinality(String), orderValue Decimal(18, 4),
    cashback Decimal(18, 4), status LowCardinality(String), passbackUid String, retailerId Nullable(UUID), retailerName LowCardinality(String),
    retailerLogo String, payoutId Nullable(Int64), passbackData String, cashbackOfferId Nullable(UUID), couponId Nullable(UUID), promotionId Nullable(UUID)
)
ENGINE = ReplacingMergeTree(updatedAt)
ORDER BY id`

type transaction struct {
	ID              uuid.UUID       `json:"id"`
	Country         string          `json:"country"`
	ActivatedAt     *time.Time      `json:"activatedAt"`
	ClickedAt       *time.Time      `json:"clickedAt"`
	SoldAt          *time.Time      `json:"soldAt"`
	UpdatedAt       time.Time       `json:"updatedAt"`
	CurrencyCode    string          `json:"currencyCode"`
	OrderValue      decimal.Decimal `json:"orderValue"`
	Cashback        decimal.Decimal `json:"cashback"`
	Status          string          `json:"status"`
	PassbackUID     string          `json:"passbackUid"`
	RetailerID      *uuid.UUID      `json:"retailerId"`
	RetailerName    string          `json:"retailerName"`
	RetailerLogo    string          `json:"retailerLogo"`
	PayoutID        *int64          `json:"payoutId"`
	PassbackData    string          `json:"passbackData"`
	CashbackOfferID *uuid.UUID      `json:"cashbackOfferId"`
	CouponID        *uuid.UUID      `json:"couponId"`
	PromotionID     *uuid.UUID      `json:"promotionId"`
}

// plain is the script that someone writes in an afternoon: page after page, encoding/json into structs, and batches of
// many rows straight into the final table. Its settings are the best there are: connections stay open, amounts are
// decimals, and nothing is inserted row by row.
func plain(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("plain", flag.ContinueOnError)
	url, dir, batchRows := f.String("url", "", "of the API"), f.String("dir", "", "of the engine"), f.Int("batch", 100_000,
		"rows")
	if err := f.Parse(args); err != nil {
		return err
	}
	return withEngine(ctx, *dir, func(_ *chdb.Engine, db driver.Conn) error {
		if err := db.Exec(ctx, plainTable); err != nil {
			return err
		}
		l := plainLoad{db: db, most: *batchRows}
		for cursor, more := "", true; more; {
			page, err := fetch(ctx, *url, cursor)
			if err == nil {
				err = l.add(ctx, page.Data)
			}
			if err != nil {
				return err
			}
			cursor, more = page.Cursor, page.Cursor != ""
		}
		return l.send()
	})
}

type page struct {
	Data   []transaction `json:"data"`
	Cursor string        `json:"cursor"`
}

func fetch(ctx context.Context, url, cursor string) (p page, err error) {
	url += listPath
	if cursor != "" {
		url += "?cursor=" + cursor
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return p, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req) //nolint:forbidigo // as such a script does
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return p, fmt.Errorf("the API answered %s", resp.Status)
	}
	return p, json.NewDecoder(resp.Body).Decode(&p)
}

type plainLoad struct {
	db    driver.Conn
	batch driver.Batch
	rows  int
	most  int
}

func (l *plainLoad) add(ctx context.Context, rows []transaction) (err error) {
	for _, r := range rows {
		if l.batch == nil {
			if l.batch, err = l.db.PrepareBatch(ctx, "INSERT INTO transactions"); err != nil {
				return err
			}
		}
		if err := l.batch.Append(r.ID, r.Country, r.ActivatedAt, r.ClickedAt, r.SoldAt, r.UpdatedAt, r.CurrencyCode,
			r.OrderValue, r.Cashback, r.Status,
			r.PassbackUID, r.RetailerID, r.RetailerName, r.RetailerLogo, r.PayoutID, r.PassbackData, r.CashbackOfferID,
			r.CouponID, r.PromotionID); err != nil {
			return err
		}
		if l.rows++; l.rows == l.most {
			if err := l.send(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *plainLoad) send() error {
	if l.batch == nil {
		return nil
	}
	err := l.batch.Send()
	l.batch, l.rows = nil, 0
	return err
}

// withEngine opens a folder with the engine in this process.
func withEngine(ctx context.Context, dir string, do func(*chdb.Engine, driver.Conn) error) error {
	e, err := chdb.Open(ctx, chdb.Options{Dir: dir})
	if err != nil {
		return err
	}
	db, err := clickhouse.Open(e.ClickHouseOptions("default"))
	if err != nil {
		return errors.Join(err, e.Close())
	}
	return errors.Join(do(e, db), db.Close(), e.Close())
}
