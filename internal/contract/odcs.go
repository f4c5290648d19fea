package contract

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/warehouse"
)

// A data contract of the Open Data Contract Standard.
type (
	odcsFile struct {
		APIVersion  string          `yaml:"apiVersion"`
		Kind        string          `yaml:"kind"`
		ID          string          `yaml:"id"`
		Name        string          `yaml:"name"`
		Version     string          `yaml:"version"`
		Status      string          `yaml:"status"`
		Description odcsDescription `yaml:"description"`
		Servers     []odcsServer    `yaml:"servers,omitempty"`
		Schema      []odcsObject    `yaml:"schema"`
		SLA         []odcsSLA       `yaml:"slaProperties"`
	}
	odcsDescription struct {
		Purpose     string `yaml:"purpose"`
		Usage       string `yaml:"usage"`
		Limitations string `yaml:"limitations"`
	}
	odcsServer struct {
		Server   string `yaml:"server"`
		Type     string `yaml:"type"`
		Host     string `yaml:"host"`
		Port     int    `yaml:"port"`
		Database string `yaml:"database"`
	}
	odcsObject struct {
		Name         string         `yaml:"name"`
		PhysicalName string         `yaml:"physicalName"`
		PhysicalType string         `yaml:"physicalType"`
		LogicalType  string         `yaml:"logicalType"`
		Description  string         `yaml:"description"`
		Properties   []odcsProperty `yaml:"properties"`
		Quality      []odcsQuality  `yaml:"quality,omitempty"`
	}
	odcsProperty struct {
		Name         string     `yaml:"name,omitempty"`
		LogicalType  string     `yaml:"logicalType"`
		PhysicalType string     `yaml:"physicalType"`
		Description  string     `yaml:"description,omitempty"`
		Required     bool       `yaml:"required,omitempty"`
		PrimaryKey   bool       `yaml:"primaryKey,omitempty"`
		Position     int        `yaml:"primaryKeyPosition,omitempty"`
		Items        *odcsItems `yaml:"items,omitempty"`
	}
	odcsItems struct {
		LogicalType  string `yaml:"logicalType"`
		PhysicalType string `yaml:"physicalType"`
	}
	odcsQuality struct {
		Name        string `yaml:"name"`
		Type        string `yaml:"type"`
		Description string `yaml:"description"`
		Dimension   string `yaml:"dimension"`
		Query       string `yaml:"query"`
		MustBe      int    `yaml:"mustBe"`
	}
	odcsSLA struct {
		Property    string `yaml:"property"`
		Value       any    `yaml:"value"`
		Unit        string `yaml:"unit,omitempty"`
		Element     string `yaml:"element"`
		Description string `yaml:"description"`
		Scheduler   string `yaml:"scheduler,omitempty"`
		Schedule    string `yaml:"schedule,omitempty"`
	}
)

// odcsVersion is the version of the standard that WriteODCS writes.
const odcsVersion = "v3.1.0"

// WriteODCS writes a data contract.
func (c Contract) WriteODCS(w io.Writer) error {
	f := odcsFile{
		APIVersion: odcsVersion, Kind: "DataContract", Name: source, Version: fmt.Sprintf("%d.0.0", c.Version),
		Status: "active",
		ID:     uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:dealhouse:"+c.Database)).String(),
		Description: odcsDescription{
			Purpose:     description,
			Usage:       "Read the views in SQL. They need no FINAL, and never show a half-loaded list, a row twice or one that is gone. Amounts are decimals.",
			Limitations: "What changes and changes back between two runs is not seen. Times are in UTC.",
		},
	}
	if c.Server != (Server{}) {
		f.Servers = []odcsServer{{"warehouse", "clickhouse", c.Server.Host, c.Server.Port, c.Database}}
	}
	for _, v := range c.tables() {
		f.Schema = append(f.Schema, c.object(v))
	}
	for _, p := range c.Streams {
		if p.LateAfter == 0 {
			continue
		}
		limit := period(p.LateAfter)
		for _, schedule := range p.Schedules {
			f.SLA = append(f.SLA, odcsSLA{
				Property: "frequency", Value: schedule, Element: p.Stream.Name, Scheduler: "cron", Schedule: schedule,
				Description: "When it is brought in step with the API",
			})
		}
		f.SLA = append(f.SLA, odcsSLA{
			Property: "latency", Value: limit.Count, Unit: limit.Period, Element: p.Stream.Name,
			Description: "After so long without a successful run it is late",
		})
	}
	return write(w, heading("The views of dealhouse as a data contract of the Open Data Contract Standard "+odcsVersion+
		".", "dealhouse schema --output odcs"), f)
}

func (c Contract) object(v warehouse.View) odcsObject {
	o := odcsObject{Name: v.Name, PhysicalName: v.Name, PhysicalType: "view", LogicalType: "object",
		Description: v.Meaning}
	keys := key(v.Name)
	for _, column := range v.Columns {
		p := odcsProperty{
			Name: column.Name, LogicalType: logicalType(column.Type), PhysicalType: column.Type, Description: describe(column),
			Required: column.Absent != "NULL",
		}
		if i := slices.Index(keys, column.Name); i >= 0 {
			p.PrimaryKey, p.Position = true, i+1
		}
		if item, list := strings.CutPrefix(column.Type, "Array("); list {
			item = strings.TrimSuffix(item, ")")
			p.Items = &odcsItems{logicalType(item), item}
		}
		o.Properties = append(o.Properties, p)
	}
	if keys != nil {
		o.Quality = append(o.Quality, odcsQuality{
			"keys_unique", "sql", "Each key is there once", "uniqueness",
			fmt.Sprintf("SELECT count() - uniqExact(%s) FROM %s.%s", strings.Join(keys, ", "), c.Database, v.Name), 0,
		})
	}
	if p, promised := c.promise(v.Name); promised {
		o.Quality = append(o.Quality, odcsQuality{
			"in_step", "sql", "It was in step with the API not longer ago than its schedule allows", "timeliness",
			fmt.Sprintf("SELECT toUInt8(loaded_at < now() - %d) FROM (%s)", int(p.LateAfter/time.Second),
				p.freshness(c.Database)), 0,
		})
	}
	return o
}

// logicalTypes are the types of the standard, by the beginnings of the types of ClickHouse.
var logicalTypes = []struct{ physical, logical string }{
	{"DateTime", "timestamp"}, {"Date", "date"}, {"Decimal", "number"}, {"Float", "number"}, {"UInt", "integer"},
	{"Int", "integer"},
	{"Bool", "boolean"}, {"Array(", "array"}, {"Tuple(", "object"}, {"Map(", "object"},
}

func logicalType(physical string) string {
	for _, wrapper := range []string{"LowCardinality(", "Nullable("} {
		physical = strings.TrimPrefix(physical, wrapper)
	}
	for _, t := range logicalTypes {
		if strings.HasPrefix(physical, t.physical) {
			return t.logical
		}
	}
	return "string"
}
