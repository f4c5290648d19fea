package decode

import (
	"testing"

	"dealhouse/internal/catalog"
)

func TestFirstKey(t *testing.T) {
	s, err := catalog.Find("coupons")
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		`[]`:                                  "",
		`[ {"id":"a","code":"x"},{"id":"b"}]`: "a",
		`[{"code":"x\"","x":{"id":"c"},"id":"b"}]`: "b",
		`[{"id":"a","id":"b"}]`:                    "b",
		`[{"id":"\u0061"}]`:                        "a",
		`[{"id":17}]`:                              "17",
		`[{"code":"x"},{"id":"b"}]`:                "",
		`[7,{"id":"b"}]`:                           "",
	} {
		if got := FirstKey(s, []byte(data)); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
	products, err := catalog.Find("products")
	if err != nil {
		t.Fatal(err)
	}
	if got := FirstKey(products, []byte(`[{"id":"a"}]`)); got != "" {
		t.Errorf("products have no id: %q", got)
	}
}
