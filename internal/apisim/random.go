package apisim

import (
	"math/rand/v2"
	"time"
)

// filterNames are names that services of this kind give to their date filters. The last ones no client guesses.
func filterNames() [][2]string {
	return [][2]string{
		{"updatedAfter", "updatedBefore"}, {"updatedAtGreaterThan", "updatedAtLessThan"}, {"updated_after", "updated_before"},
		{"updatedAtFrom", "updatedAtTo"}, {"updatedFrom", "updatedTo"}, {"updatedSince", "updatedUntil"},
		{"updated_since", "updated_until"}, {"updatedAtGte", "updatedAtLte"}, {"updatedAtGt", "updatedAtLt"},
		{"updatedAt[gt]", "updatedAt[lt]"}, {"updatedAt[gte]", "updatedAt[lte]"}, {"modifiedSince", "modifiedBefore"},
		{"since", "until"}, {"from", "to"}, {"startDate", "endDate"}, {"dateFrom", "dateTo"},
		{"geaendertAb", "geaendertBis"}, {"zmienione_od", "zmienione_do"}, {"q[updated][min]", "q[updated][max]"},
	}
}

// RandomSettings draws a behaviour: equal seeds give equal ones.
func RandomSettings(seed uint64) Settings {
	r := rand.New(rand.NewPCG(seed, 1))
	var s Settings
	names := filterNames()
	pair := pick(r, names...)
	s.Params = Params{UpdatedAfter: pair[0], UpdatedBefore: pair[1]}
	if r.IntN(4) == 0 {
		s.Params.UpdatedBefore = pick(r, names...)[1]
	}
	s.Params.Page = pick(r, "page", "nextPage", "cursor", "pageToken", "page_token", "next_page", "next", "token", "offset", "seite")
	s.PageSize = pick(r, 1, 2, 7, 25, 100, 500)
	s.PageSizeParam = pick(r, "", "anzahl", "limit", "pageSize", "page_size", "perPage", "per_page", "size", "count", "take")
	s.PageSizeMost = pick(r, 50, 1000, maxPageSize)
	s.BasePath = pick(r, "", "", "/api")
	s.Order = pick(r, ByID, ByUpdatedAsc, ByUpdatedDesc, Shuffled, Drifting)
	s.Cursor = pick(r, CursorNextID, CursorLastID, CursorOffset, CursorKeyset)
	s.NextPage = pick(r, NextToken, NextNumber, NextJSONNumber, NextURL)
	s.Timestamps = pick(r, TimeZulu, TimeNoZone, TimeOffset)
	s.Gzip, s.ExtraFields, s.ETags = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(2) == 0
	s.IgnoreDateFilters, s.RejectUnknownParams = r.IntN(8) == 0, r.IntN(3) == 0
	s.Dates = DateRules{
		AfterInclusive: r.IntN(2) == 0, BeforeInclusive: r.IntN(2) == 0, WholeSeconds: r.IntN(4) == 0,
		BySale: r.IntN(8) == 0, EpochOnly: r.IntN(10) == 0, NotAfterCursor: r.IntN(5) == 0,
	}
	s.PayoutsKeyRequired = r.IntN(3) == 0
	s.OmitDate, s.DateSkew = r.IntN(6) == 0, pick(r, 0, 0, -90*time.Second, 3*time.Hour)
	if r.IntN(10) == 0 {
		s.Movement = Movement{PerPage: 1, Seed: seed}
	}
	if r.IntN(12) == 0 {
		s.RateLimit = RateLimit{PerSecond: 0.01, Burst: 1 + r.IntN(40), RetryAfterDate: r.IntN(2) == 0}
	}
	return s
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
