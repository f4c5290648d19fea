package lineage

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// specification is where the schemas are that events follow.
const specification = "https://openlineage.io/spec/"

// Types of events.
const (
	eventStart    = "START"
	eventComplete = "COMPLETE"
	eventFail     = "FAIL"
	eventAbort    = "ABORT"
)

type (
	event struct {
		Type     string    `json:"eventType"`
		Time     time.Time `json:"eventTime"`
		Producer string    `json:"producer"`
		Schema   string    `json:"schemaURL"`
		Run      run       `json:"run"`
		Job      job       `json:"job"`
		Inputs   []dataset `json:"inputs"`
		Outputs  []dataset `json:"outputs"`
	}
	run struct {
		ID     string `json:"runId"`
		Facets facets `json:"facets,omitempty"`
	}
	job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Facets    facets `json:"facets,omitempty"`
	}
	dataset struct {
		Namespace    string `json:"namespace"`
		Name         string `json:"name"`
		Facets       facets `json:"facets"`
		InputFacets  facets `json:"inputFacets,omitempty"`
		OutputFacets facets `json:"outputFacets,omitempty"`
	}
	// facets are the statements about a thing, by the names of the standard.
	facets map[string]map[string]any
)

// add adds a statement. file is the file of the standard that describes this kind.
func (e *Emitter) add(to facets, name, file string, says map[string]any) {
	kind, _, _ := strings.Cut(file, "/")
	says["_producer"] = e.producer
	says["_schemaURL"] = specification + "facets/" + strings.TrimPrefix(file, kind+"/") + "/" + kind + ".json#/$defs/" +
		kind
	to[name] = says
}

// endings are the types of events by the outcome of the run.
var endings = map[string]string{warehouse.OutcomeSuccess: eventComplete, warehouse.OutcomeStopped: eventAbort}

// of returns the event of a run that has begun or, with a type for its end, has ended.
func (e *Emitter) of(j syncer.Job, r warehouse.RunRecord, began bool) event {
	out := event{
		Type: eventStart, Time: r.StartedAt.UTC(), Producer: e.producer,
		Schema: specification + "2-0-2/OpenLineage.json#/$defs/RunEvent",
		Run:    run{r.RunID.String(), facets{}}, Job: job{e.o.Namespace, jobName(r), facets{}},
	}
	e.add(out.Run.Facets, "processing_engine", "ProcessingEngineRunFacet/1-1-1",
		map[string]any{"name": "ClickHouse", "version": e.o.Engine, "openlineageAdapterVersion": e.o.Version})
	if !j.Due.IsZero() {
		e.add(out.Run.Facets, "nominalTime", "NominalTimeRunFacet/1-0-1", map[string]any{"nominalStartTime": j.Due.UTC()})
	}
	if p := e.o.Parent; p.Run != "" {
		e.add(out.Run.Facets, "parent", "ParentRunFacet/1-2-0", map[string]any{
			"run": map[string]any{"runId": p.Run}, "job": map[string]any{"namespace": p.Namespace, "name": p.Job},
		})
	}
	e.add(out.Job.Facets, "jobType", "JobTypeJobFacet/2-0-4",
		map[string]any{"processingType": "BATCH", "integration": "DEALHOUSE", "jobType": "JOB"})
	e.add(out.Job.Facets, "documentation", "DocumentationJobFacet/1-1-0", map[string]any{"description": j.Stream.Comment})
	if !began {
		out.Type, out.Time = eventFail, r.FinishedAt.UTC()
		if t, known := endings[r.Outcome]; known {
			out.Type = t
		}
		if r.Error != "" {
			e.add(out.Run.Facets, "errorMessage", "ErrorMessageRunFacet/1-0-1",
				map[string]any{"message": r.Error, "programmingLanguage": "GO"})
		}
	}
	var input *dataset
	out.Inputs = []dataset{}
	if j.Client != nil {
		input = e.input(j)
		if !began {
			e.add(input.InputFacets, "inputStatistics", "InputStatisticsInputDatasetFacet/1-0-0",
				map[string]any{"rowCount": r.Totals.Read, "size": r.Totals.Bytes})
		}
		out.Inputs = append(out.Inputs, *input)
	}
	out.Outputs = e.outputs(j.Stream, r.Mode, input)
	if !began {
		e.add(out.Outputs[0].OutputFacets, "outputStatistics", "OutputStatisticsOutputDatasetFacet/1-0-2",
			map[string]any{"rowCount": r.Changes.Inserted + r.Changes.Updated})
	}
	return out
}

// jobName returns the name of the job of a run: normal loads of a stream are one job, and any other work on it has its
// mode in the name.
func jobName(r warehouse.RunRecord) string {
	name := r.Account + "." + r.Stream
	switch r.Mode {
	case warehouse.ModeBackfill, warehouse.ModeRetry, warehouse.ModeReferences:
		return name + "." + r.Mode
	}
	return name
}

// input returns the list of the API that is read.
func (e *Emitter) input(j syncer.Job) *dataset {
	d := &dataset{Namespace: j.Client.Origin(), Name: strings.TrimPrefix(j.Stream.Path, "/"), Facets: facets{},
		InputFacets: facets{}}
	e.add(d.Facets, "dataSource", "DatasourceDatasetFacet/1-0-1",
		map[string]any{"name": d.Namespace, "uri": d.Namespace + j.Stream.Path})
	var fields []map[string]any
	for _, f := range j.Stream.Fields {
		fields = append(fields, map[string]any{"name": f.JSON, "type": f.Type.String(), "description": f.Comment})
	}
	e.add(d.Facets, "schema", "SchemaDatasetFacet/1-2-0", map[string]any{"fields": fields})
	return d
}

// outputs returns the views that show what a run has loaded, that of the stream first.
func (e *Emitter) outputs(s *catalog.Stream, mode string, from *dataset) []dataset {
	if mode == warehouse.ModeReferences { // the stream's own view does not show rows that no list has
		return []dataset{e.output(s.AllView, "Every record of "+s.Name+" that is known, listed or not", s.Fields, from)}
	}
	all := []dataset{e.output(s.Name, s.Comment, s.Fields, from)}
	if s.History {
		all = append(all, e.output(s.Name+"_history", "Every version of "+s.Name+" that was ever loaded", s.Fields, from))
	}
	if c := s.Child; c != nil {
		all = append(all, e.output(c.Table, c.Comment, c.AllFields(), nil)) // its fields are in a list in the record
	}
	return all
}

func (e *Emitter) output(view, comment string, list []catalog.Field, from *dataset) dataset {
	d := dataset{Namespace: e.o.Warehouse, Name: e.o.Database + "." + view, Facets: facets{}, OutputFacets: facets{}}
	e.add(d.Facets, "dataSource", "DatasourceDatasetFacet/1-0-1",
		map[string]any{"name": e.o.Warehouse, "uri": e.o.Warehouse})
	e.add(d.Facets, "documentation", "DocumentationDatasetFacet/1-1-0", map[string]any{"description": comment})
	columns := []map[string]any{{"name": "account", "type": "LowCardinality(String)",
		"description": "Account of the configuration"}}
	origins := map[string]any{}
	for _, f := range list {
		columns = append(columns, map[string]any{"name": f.Column, "type": f.ColumnType(), "description": f.Comment})
		if from != nil {
			origins[f.Column] = map[string]any{"inputFields": []map[string]any{{
				"namespace": from.Namespace, "name": from.Name, "field": f.JSON,
				"transformations": []map[string]any{{"type": "DIRECT", "subtype": "IDENTITY"}},
			}}}
		}
	}
	e.add(d.Facets, "schema", "SchemaDatasetFacet/1-2-0", map[string]any{"fields": columns})
	if from != nil {
		e.add(d.Facets, "columnLineage", "ColumnLineageDatasetFacet/1-2-0", map[string]any{"fields": origins})
	}
	return d
}

// text returns the event as it is sent: a line of JSON.
func (ev event) text() ([]byte, error) {
	text, err := json.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("writing an OpenLineage event: %w", err)
	}
	return append(text, '\n'), nil
}

// producerOf names a version of this program, as a URI.
func producerOf(version string) string { return "urn:dealhouse:" + url.PathEscape(version) }
