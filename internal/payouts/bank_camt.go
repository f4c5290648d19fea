package payouts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/encoding/htmlindex"
)

// The messages of ISO 20022 have had a dozen versions. What is read here has the same names in all of them; where a
// version puts something one level deeper, both places are read. Namespaces do not matter.

type camtAmount struct {
	Currency string `xml:"Ccy,attr"`
	Text     string `xml:",chardata"`
}

type camtDay struct {
	Day  string `xml:"Dt"`
	Time string `xml:"DtTm"`
}

type camtCharge struct {
	Amount   camtAmount `xml:"Amt"`
	Side     string     `xml:"CdtDbtInd"`
	Included string     `xml:"ChrgInclInd"`
}

type camtCharges struct {
	camtCharge              // until version 2
	Records    []camtCharge `xml:"Rcrd"`
}

type camtParty struct {
	Name  string `xml:"Nm"`
	Inner string `xml:"Pty>Nm"` // since version 8
}

type camtEntry struct {
	Amount    camtAmount    `xml:"Amt"`
	Side      string        `xml:"CdtDbtInd"`
	Status    camtStatus    `xml:"Sts"`
	Booked    camtDay       `xml:"BookgDt"`
	Valued    camtDay       `xml:"ValDt"`
	Reference string        `xml:"AcctSvcrRef"`
	Charges   []camtCharges `xml:"Chrgs"`
	Parts     []camtPart    `xml:"NtryDtls>TxDtls"`
	Words     string        `xml:"AddtlNtryInf"`
}

type camtStatus struct {
	Text string `xml:",chardata"` // until version 7
	Code string `xml:"Cd"`
}

// camtPart is a payment of which an entry has one or several.
type camtPart struct {
	Reference  string        `xml:"Refs>AcctSvcrRef"`
	EndToEnd   string        `xml:"Refs>EndToEndId"`
	Amount     camtAmount    `xml:"Amt"`
	InTx       camtAmount    `xml:"AmtDtls>TxAmt>Amt"` // until version 2
	Instructed camtAmount    `xml:"AmtDtls>InstdAmt>Amt"`
	Side       string        `xml:"CdtDbtInd"`
	Charges    []camtCharges `xml:"Chrgs"`
	Debtor     camtParty     `xml:"RltdPties>Dbtr"`
	Ultimate   camtParty     `xml:"RltdPties>UltmtDbtr"`
	Creditor   camtParty     `xml:"RltdPties>Cdtr"`
	Free       []string      `xml:"RmtInf>Ustrd"`
	Structured []string      `xml:"RmtInf>Strd>CdtrRefInf>Ref"`
	Words      string        `xml:"AddtlTxInf"`
}

// readCAMT reads the entries of all statements of a CAMT message.
func readCAMT(text []byte) (entries []entry, problems []Problem) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		encoding, err := htmlindex.Get(label)
		if err != nil {
			return nil, err
		}
		return encoding.NewDecoder().Reader(in), nil
	}
	var path []string
	var id, within string // of the statement
	known := map[string]bool{}
	for {
		token, err := d.Token()
		line, _ := d.InputPos()
		switch {
		case errors.Is(err, io.EOF):
			return entries, problems
		case err != nil:
			return nil, []Problem{{Line: line, Text: "is not the XML of a statement: " + err.Error()}}
		}
		switch t := token.(type) {
		case xml.EndElement:
			if len(path) == 3 && id != "" {
				known[within+"\x00"+id] = true // it may be in the file twice
			}
			path = path[:len(path)-1]
		case xml.StartElement:
			path = append(path, t.Name.Local)
			if len(path) < 3 || !slices.Contains([]string{"Stmt", "Ntfctn", "Rpt"}, path[2]) {
				continue
			}
			switch strings.Join(path[3:], "/") {
			case "": // a statement begins
				id, within = "", ""
				continue
			case "Id":
				err = d.DecodeElement(&id, &t)
			case "Acct/Id/IBAN", "Acct/Id/Othr/Id":
				err = d.DecodeElement(&within, &t)
			case "Ntry":
				var e camtEntry
				if err = d.DecodeElement(&e, &t); err == nil && !known[within+"\x00"+id] {
					found, wrong := e.entries(line, strings.TrimSpace(within))
					entries, problems = append(entries, found...), append(problems, wrong...)
				}
			default:
				continue
			}
			if err != nil {
				return nil, []Problem{{Line: line, Text: "is not the XML of a statement: " + err.Error()}}
			}
			path = path[:len(path)-1]
		}
	}
}

// entries returns the payments of an entry: its parts, if they have amounts that make up its own, and else itself.
func (c camtEntry) entries(line int, within string) (all []entry, problems []Problem) {
	e := entry{line: line, reference: strings.TrimSpace(c.Reference), on: c.Booked.day(), within: within, currency: c.Amount.Currency}
	if e.on == "" {
		e.on = c.Valued.day()
	}
	e.booked = slices.Contains([]string{"BOOK", ""}, strings.TrimSpace(c.Status.Text)+strings.TrimSpace(c.Status.Code))
	amount, err := c.Amount.signed(c.Side)
	if err != nil {
		return nil, []Problem{{line, columnAmount, err.Error()}}
	}
	e.amount = amount
	e.words = strings.Join([]string{c.Words, words(c.Parts)}, " ")
	if len(c.Parts) == 1 {
		p := c.Parts[0]
		if e.reference == "" {
			e.reference = strings.TrimSpace(p.Reference)
		}
		e.sending(p.Instructed, slices.Concat(c.Charges, p.Charges))
	} else {
		e.sending(camtAmount{}, c.Charges)
	}
	e.batch = e.reference
	if len(c.Parts) < 2 {
		return []entry{e}, nil
	}
	var sum decimal.Decimal
	for i, p := range c.Parts {
		if p.Amount.Text == "" {
			p.Amount = p.InTx
		}
		if p.Side == "" {
			p.Side = c.Side
		}
		part := e
		if part.amount, err = p.Amount.signed(p.Side); err != nil || p.Amount.Currency != e.currency {
			return []entry{e}, nil
		}
		sum = sum.Add(part.amount)
		part.words = strings.Join([]string{c.Words, words(c.Parts[i : i+1])}, " ")
		if part.reference, part.fee = strings.TrimSpace(p.Reference), decimal.Zero; e.reference != "" {
			part.reference = fmt.Sprintf("%s/%d", e.reference, i+1) // also where it has its own: so both forms of a booking are known
		}
		part.sending(p.Instructed, p.Charges)
		all = append(all, part)
	}
	if !sum.Equal(e.amount) {
		return []entry{e}, nil
	}
	return all, nil
}

// sending says what was sent before the bank kept something of it, or converted it.
func (e *entry) sending(instructed camtAmount, charges []camtCharges) {
	var certain, named decimal.Decimal
	for _, c := range charges {
		for _, one := range append(c.Records, c.camtCharge) {
			kept, err := one.Amount.signed("CRDT")
			if err != nil || one.Amount.Currency != e.currency || one.Side == "CRDT" {
				continue
			}
			named = named.Add(kept)
			if one.Included == "true" || one.Included == "1" {
				certain = certain.Add(kept)
			}
		}
	}
	e.fee = certain
	sent, err := instructed.signed("CRDT")
	switch {
	case err != nil || instructed.Text == "":
	case instructed.Currency != e.currency:
		if e.amount.IsNegative() {
			sent = sent.Neg()
		}
		e.sent, e.sentIn = sent, instructed.Currency
	case e.amount.Add(named).Equal(sent):
		e.fee = named
	case sent.GreaterThan(e.amount) && e.amount.IsPositive():
		e.fee = sent.Sub(e.amount) // other banks on the way kept it
	}
}

// words are the names and the texts of parts.
func words(parts []camtPart) string {
	var all []string
	for _, p := range parts {
		all = append(all, p.Debtor.Name, p.Debtor.Inner, p.Ultimate.Name, p.Ultimate.Inner, p.Creditor.Name, p.Creditor.Inner)
		all = append(append(append(all, p.Free...), p.Structured...), p.Words)
		if end := strings.TrimSpace(p.EndToEnd); !strings.EqualFold(end, "NOTPROVIDED") {
			all = append(all, end)
		}
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}

// day is the day, as 2026-03-31, of a date or of a date with a time.
func (d camtDay) day() string {
	text := strings.TrimSpace(d.Day + d.Time)
	return text[:min(len(text), len(time.DateOnly))]
}

var camtNumber = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,10})?$`)

// signed is an amount with the sign of its side.
func (a camtAmount) signed(side string) (decimal.Decimal, error) {
	text := strings.TrimSpace(a.Text)
	if !camtNumber.MatchString(text) {
		return decimal.Zero, fmt.Errorf("is %s, which is not an amount", quoted(a.Text))
	}
	d, err := decimal.NewFromString(text)
	switch {
	case err != nil:
		return decimal.Zero, err
	case strings.TrimSpace(side) == "DBIT":
		return d.Neg(), nil
	case strings.TrimSpace(side) == "CRDT":
		return d, nil
	}
	return decimal.Zero, fmt.Errorf("has the side %s: it is neither CRDT nor DBIT", quoted(side))
}
