package conn

import "testing"

func TestSettingsDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want map[string]string
		sql        string
	}{
		{nil, nil, ""},
		{map[string]string{"a": "1"}, map[string]string{"a": "1"}, ""},
		{map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "3", "c": `it's \`},
			`SET a = DEFAULT, b = '3', c = 'it\'s \\'`},
	} {
		if got := settingsDiff(c.have, c.want); got != c.sql {
			t.Errorf("got %s, want %s", got, c.sql)
		}
	}
}
