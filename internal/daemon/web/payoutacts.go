package web

import "dealhouse/internal/report"

// rules are by what payouts are compared, by the configuration in force.
func (s *Server) rules() report.Filter {
	return report.Filter{OverdueAfter: s.o.OverdueAfter(), Tolerances: s.o.Tolerances()}
}
