package syncer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestVerify alters and removes rows by hand, and changes records at the service. A dry run that names differences
// finds each of them and no other, tells one kind from the other, and changes nothing. A full run that trusts no stored
// hash repairs what was altered.
func TestVerify(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for _, stream := range []string{"transactions", "coupons"} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			x, w := serve(t, tinyWorld(3, "acme")), open(t)
			job := x.jobs(t, "acme", stream)[0]
			job.Full, job.AllowMassDelete, job.MaxRejectedRatio = true, true, 1
			syncAll(t, w, []Job{job})
			ids := strings.Split(one(t, w, fmt.Sprintf("SELECT arrayStringConcat(arraySort(groupArray(toString(id))), ' ') FROM %s", stream)), " ")
			if len(ids) < 20 {
				t.Fatalf("only %d rows", len(ids))
			}
			look := func() map[string][]string {
				t.Helper()
				job := job
				job.DryRun, job.Differences = true, 1000
				found := map[string][]string{}
				for _, d := range syncAll(t, w, []Job{job})["acme/"+stream].Differences.Named {
					fields := strings.Join(d.Fields, ",")
					if d.Kind == warehouse.DifferenceChanged { // what else changes depends on the record
						fields = fmt.Sprint(slices.Contains(d.Fields, "updated_at"))
					}
					found[d.Kind] = append(found[d.Kind], d.Key+" "+fields)
				}
				for _, list := range found {
					slices.Sort(list)
				}
				return found
			}
			if found := look(); len(found) > 0 {
				t.Errorf("nothing was changed: %v", found)
			}
			field := map[string]string{"transactions": "retailer_name", "coupons": "code"}[stream]
			for _, statement := range []string{
				fmt.Sprintf("ALTER TABLE %s_latest UPDATE %s = 'altered' WHERE id IN ('%s', '%s') SETTINGS mutations_sync = 2", stream, field, ids[0], ids[1]),
				fmt.Sprintf("ALTER TABLE %s_latest DELETE WHERE id = '%s' SETTINGS mutations_sync = 2", stream, ids[2]),
			} {
				if err := w.Conn().Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			x.Advance(time.Minute)
			if err := x.Touch(stream, "acme", ids[3]); err != nil {
				t.Fatal(err)
			}
			fresh := "00000000-0000-4000-8000-00000000ffff"
			if err := x.Put(stream, "acme", fmt.Appendf(nil, `{"id":%q,"updatedAt":%q}`, fresh, x.Now().Format(dealapi.TimeLayout))); err != nil {
				t.Fatal(err)
			}
			if err := x.Delete(stream, "acme", ids[4]); err != nil {
				t.Fatal(err)
			}
			want := map[string][]string{
				warehouse.DifferenceWrong: {ids[0] + " " + field, ids[1] + " " + field}, warehouse.DifferenceMissing: {ids[2] + " "},
				warehouse.DifferenceChanged: {ids[3] + " true"}, warehouse.DifferenceNew: {fresh + " "}, warehouse.DifferenceGone: {ids[4] + " "},
			}
			before := one(t, w, "SELECT (count(), sum(sipHash64(*))) FROM "+stream)
			if d := cmp.Diff(want, look()); d != "" {
				t.Error(d)
			}
			if after := one(t, w, "SELECT (count(), sum(sipHash64(*))) FROM "+stream); after != before {
				t.Errorf("the look changed the rows: %s, %s", before, after)
			}
			if err := w.Distrust(t.Context(), job.Stream); err != nil {
				t.Fatal(err)
			}
			syncAll(t, w, []Job{job})
			if found := look(); len(found) > 0 {
				t.Errorf("after the repair: %v", slices.Sorted(maps.Keys(found)))
			}
		})
	}
}
