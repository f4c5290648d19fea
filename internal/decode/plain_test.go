package decode

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// FuzzPlain compares the functions that read only the plain form of a value with those that read every form: what the
// former accept, both read as the same value.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{
		"0f0b8b1e-7a35-4a36-a3f4-9f0F6A1D2C3B", "0f0b8b1e-7a35-4a36-a3f4-9f0g6a1d2c3b",
		"0f0b8b1e_7a35-4a36-a3f4-9f006a1d2c3b",
		"\x10f0b8b1e-7a35-4a36-a3f4-9f0f6a1d2c3", "0f0b8b1e-7a35-4a36-a3f4-9f0f6a1d2c3\xb0",
		"2024-02-29T23:59:59.999Z", "2023-02-29T23:59:59.999Z", "0000-01-01T00:00:00.000Z", "2300-01-01T00:00:00.000Z",
		"2024-04-31T00:00:00.000Z",
		"-0.10", "12.3456", "12.34567", "99999999999999.9999", "999999999999999999", "-1000000000000000000", "1e2", "1.",
		".5", "-", "1-2", "007", "1,2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		if len(b) == uuidLength {
			var id uuid.UUID
			want, err := uuid.ParseBytes(b)
			if ok := plainUUID((*[uuidLength]byte)(b), &id); ok != (err == nil) || id != want && ok {
				t.Fatalf("%q = %s, %t, want %s, %v", s, id, ok, want, err)
			}
		}
		if len(b) == timeLength {
			want, valid := parseTime(b)
			if ms, ok := plainTime((*[timeLength]byte)(b)); ok && (!valid || ms != want) {
				t.Fatalf("%q = %d, want %d, %t", s, ms, want, valid)
			}
		}
		for _, scale := range []int{0, 4, 6, 9} {
			value, length, ok := plainDecimal(b, scale)
			if !ok {
				continue
			}
			want, how, valid := parseDecimal(b[:length], scale)
			if !valid || how != exact || value != want || length < len(b) &&
				strings.IndexByte("0123456789.eE+-", b[length]) >= 0 {
				t.Fatalf("%q at scale %d = %d in %d bytes, want %d, %d, %t", s, scale, value, length, want, how, valid)
			}
			if want, valid := parseInt(b[:length]); scale == 0 && (!valid || value != want) {
				t.Fatalf("%q = %d, want %d, %t", s, value, want, valid)
			}
		}
	})
}

// TestPlainIsUsual wants values as services send them to be read in their plain form: otherwise the plain
// form makes nothing faster.
func TestPlainIsUsual(t *testing.T) {
	var id uuid.UUID
	if !plainUUID((*[uuidLength]byte)([]byte("0f0b8b1e-7a35-4a36-a3f4-9f0F6A1D2C3B")), &id) {
		t.Error("a UUID is not plain")
	}
	if _, ok := plainTime((*[timeLength]byte)([]byte("2024-02-29T23:59:59.999Z"))); !ok {
		t.Error("a timestamp is not plain")
	}
	for _, s := range []string{"0", "-12.5", "12.3456,", "99999999999999.9999}"} {
		if _, _, ok := plainDecimal([]byte(s), 4); !ok {
			t.Errorf("%s is not plain", s)
		}
	}
}

// TestNoAllocationsPerRow decodes into a batch that has memory from before: the only allocations are
// chunks for lists and entries.
func TestNoAllocationsPerRow(t *testing.T) {
	for name, page := range map[string][]byte{"transactions": transactionsPage(1000), "products": productsPage(1000)} {
		d, batch := New(stream(t, name)), NewBatch(stream(t, name))
		per := testing.AllocsPerRun(20, func() {
			batch.Reset()
			if err := d.Page(batch, page, 1, 1); err != nil {
				t.Fatal(err)
			}
		})
		if per > 20 {
			t.Errorf("%s: %.0f allocations for 1,000 rows", name, per)
		}
	}
}

// TestLists reads lists that fill a chunk of memory, and some that are larger than one: each keeps its own elements.
func TestLists(t *testing.T) {
	var page bytes.Buffer
	var want []string
	page.WriteByte('[')
	for i := range 500 {
		element := strings.Repeat(string(rune('a'+i%26)), i%7*90+1)
		n := i % 5
		if i%100 == 99 {
			n = 300
		}
		if i > 0 {
			page.WriteByte(',')
		}
		page.WriteString(`{"url":"` + element + `","imageUrls":[` +
			strings.TrimSuffix(strings.Repeat(`"`+element+`",`, n), ",") + `]}`)
		want = append(want, strings.Repeat(element+"\x00", n))
	}
	page.WriteByte(']')
	s := stream(t, "products")
	d, batch := New(s), NewBatch(s)
	if err := d.Page(batch, page.Bytes(), 1, 1); err != nil {
		t.Fatal(err)
	}
	for i := range s.Fields {
		if s.Fields[i].JSON != "imageUrls" {
			continue
		}
		for row, list := range batch.Columns[i].Strings {
			if list != want[row] {
				t.Fatalf("row %d has %.40q..., want %.40q...", row, list, want[row])
			}
		}
	}
}

func TestVersion5(t *testing.T) {
	if got, want := version5(append(keySpace[:], "url\x00https://shop.example/p/1"...)), uuid.NewSHA1(keySpace,
		[]byte("url\x00https://shop.example/p/1")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDaysOfAMonth wants days that are read one after the other, as in the entries of a list, to be
// the same as each day alone.
func TestDaysOfAMonth(t *testing.T) {
	var r Rows
	for _, s := range []string{
		"2026-02-00", "2026-02-01", "2026-02-28", "2026-02-29", "2026-02-30", "2026-02-00", "2026-02-0x", "2026-02-1\x00",
		"2026-03-01", "2026-03-31", "2026-03-02",
		"2149-06-06", "2149-06-05", "2149-06-07", "2149-06-28", "2149-05-28", "1969-12-31", "1969-12-01", "1970-01-01",
		"1970-01-28", "\x00\x00\x00\x00\x00\x00\x00\x0001",
	} {
		day, ok := r.plainDay((*[dayLength]byte)([]byte(s)))
		if want, fits := parseDay([]byte(s)); ok != fits || ok && day != want {
			t.Errorf("%q = %d, %t, want %d, %t", s, day, ok, want, fits)
		}
	}
}
