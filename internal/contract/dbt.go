package contract

import (
	"io"
	"strings"
	"time"
)

// The sources of a dbt project, as dbt 1.10 and later read them.
type (
	dbtFile struct {
		Version int         `yaml:"version"`
		Sources []dbtSource `yaml:"sources"`
	}
	dbtSource struct {
		Name        string     `yaml:"name"`
		Schema      string     `yaml:"schema"`
		Description string     `yaml:"description"`
		Loader      string     `yaml:"loader"`
		Tables      []dbtTable `yaml:"tables"`
	}
	dbtTable struct {
		Name        string      `yaml:"name"`
		Description string      `yaml:"description"`
		Config      *dbtConfig  `yaml:"config,omitempty"`
		Tests       []any       `yaml:"data_tests,omitempty"`
		Columns     []dbtColumn `yaml:"columns"`
	}
	dbtConfig struct {
		Freshness dbtFreshness `yaml:"freshness"`
		LoadedAt  string       `yaml:"loaded_at_query"`
	}
	dbtFreshness struct {
		WarnAfter  dbtPeriod `yaml:"warn_after"`
		ErrorAfter dbtPeriod `yaml:"error_after"`
	}
	dbtPeriod struct {
		Count  int    `yaml:"count"`
		Period string `yaml:"period"`
	}
	dbtColumn struct {
		Name        string   `yaml:"name"`
		Type        string   `yaml:"data_type"`
		Description string   `yaml:"description"`
		Tests       []string `yaml:"data_tests,omitempty"`
	}
	dbtUnique struct {
		Unique struct {
			Arguments struct {
				Column string `yaml:"column_name"`
			} `yaml:"arguments"`
		} `yaml:"unique"`
	}
)

const (
	source      = "dealhouse"
	description = "What a retailer-deals API lists, in step with it: promotions, coupons, cashback offers, transactions, payouts and products. Every record once, every amount exact."
)

// WriteDBT writes the sources.yml of a dbt project.
func (c Contract) WriteDBT(w io.Writer) error {
	s := dbtSource{Name: source, Schema: c.Database, Description: description, Loader: source}
	for _, v := range c.tables() {
		t := dbtTable{Name: v.Name, Description: v.Meaning}
		if p, promised := c.promise(v.Name); promised {
			t.Config = &dbtConfig{dbtFreshness{period(p.LateAfter), period(p.failsAfter())}, p.freshness(c.Database)}
		}
		keys := map[string]bool{}
		if columns := key(v.Name); columns != nil {
			var test dbtUnique
			test.Unique.Arguments.Column = "(" + strings.Join(columns, ", ") + ")"
			t.Tests = append(t.Tests, test)
			for _, column := range columns {
				keys[column] = true
			}
		}
		for _, column := range v.Columns {
			d := dbtColumn{Name: column.Name, Type: column.Type, Description: describe(column)}
			if keys[column.Name] {
				d.Tests = []string{"not_null"}
			}
			t.Columns = append(t.Columns, d)
		}
		s.Tables = append(s.Tables, t)
	}
	return write(w, heading("The views of dealhouse as sources of a dbt project. dbt 1.10 or later reads it.",
		"dealhouse schema --output dbt"), dbtFile{2, []dbtSource{s}})
}

// period returns a time in the largest unit of dbt in which it is a whole number. It is rounded up to minutes.
func period(d time.Duration) dbtPeriod {
	const day = 24 * time.Hour
	d = (d + time.Minute - 1).Truncate(time.Minute)
	switch {
	case d%day == 0:
		return dbtPeriod{int(d / day), "day"}
	case d%time.Hour == 0:
		return dbtPeriod{int(d / time.Hour), "hour"}
	}
	return dbtPeriod{int(d / time.Minute), "minute"}
}
