package main

import (
	"fmt"
	"html"
	"strings"
)

const (
	barHeight, barGap = 18, 30
	barLeft, barRight = 210, 90
	chartWidth        = 720
)

// chart shows the time and the CPU time of each that ran.
func (t *table) chart() string {
	var bars []result
	most := 0.0
	for _, r := range t.Results {
		if r.Skipped == "" && !r.ExactOnly {
			bars = append(bars, r)
			most = max(most, r.Seconds, r.CPUSeconds)
		}
	}
	height := 64 + len(bars)*(2*barHeight+barGap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" role="img">`+"\n", chartWidth, height)
	what := "Seconds to load " + thousands(int64(t.Rows)) + " transactions: wall, and CPU"
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", what)
	fmt.Fprintf(&b, "<text x=\"10\" y=\"22\" font-weight=\"bold\">%s</text>\n", what)
	fmt.Fprintf(&b, "<text x=\"10\" y=\"42\" fill=\"#555\">%s</text>\n", html.EscapeString(t.title()))
	for i, r := range bars {
		y := 60 + i*(2*barHeight+barGap)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", barLeft-10, y+barHeight+4,
			html.EscapeString(r.Name))
		bar(&b, y, "#2563a8", r.Seconds, most, "wall")
		bar(&b, y+barHeight, "#9db8d2", r.CPUSeconds, most, "CPU")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func bar(b *strings.Builder, y int, color string, value, most float64, what string) {
	width := (chartWidth - barLeft - barRight) * value / most
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%d\" fill=\"%s\"/>\n", barLeft, y, width, barHeight-1,
		color)
	fmt.Fprintf(b, "<text x=\"%.0f\" y=\"%d\" font-size=\"11\" fill=\"#333\">%.1f %s</text>\n", barLeft+width+5,
		y+barHeight-5, value, what)
}
