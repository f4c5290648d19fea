package payouts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

var acmeSenders = Rules{Until: today.AddDate(1, 0, 0), Senders: map[string][]string{"acme": {"Acme Deals"}, "globex": {"GLOBEX gmbh"}}}

// camt is a message with one statement of these entries.
func camt(version, entries string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.` + version + `"><BkToCstmrStmt>
<GrpHdr><MsgId>1</MsgId></GrpHdr>
<Stmt><Id>S-1</Id><Acct><Id><IBAN>DE02120300000000202051</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Bal><Amt Ccy="EUR">10.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
` + entries + `
</Stmt></BkToCstmrStmt></Document>`
}

func camtNtry(amount, side, more string) string {
	return `<Ntry><Amt Ccy="EUR">` + amount + `</Amt><CdtDbtInd>` + side + `</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-03-31</Dt></BookgDt><ValDt><Dt>2026-03-30</Dt></ValDt>` + more + `</Ntry>`
}

func part(more string) string { return "<NtryDtls><TxDtls>" + more + "</TxDtls></NtryDtls>" }

const acmePart = `<RltdPties><Dbtr><Nm>ACME  deals Ltd</Nm></Dbtr></RltdPties><RmtInf><Ustrd>Payout 102</Ustrd></RmtInf>`

// told is a reading in a few words.
func told(read Reading) string {
	var all []string
	for _, r := range read.Rows {
		text := fmt.Sprintf("%s %s %s %s %s", r.Account, r.Reference, r.ReceivedOn.Format(time.DateOnly), r.Amount, r.Currency)
		if !r.Fee.IsZero() {
			text += " fee " + r.Fee.String()
		}
		if r.PayoutCurrency != r.Currency {
			text += " of " + r.PayoutAmount.String() + " " + r.PayoutCurrency
		}
		all = append(all, text)
	}
	for _, l := range read.Left {
		all = append(all, "left: "+l.Why)
	}
	for _, p := range read.Problems {
		all = append(all, "problem: "+p.String())
	}
	return strings.Join(all, "\n")
}

// TestStatements reads what banks send.
func TestStatements(t *testing.T) {
	t.Parallel()
	both := camtNtry("30.00", "CRDT", `<AcctSvcrRef>B-9</AcctSvcrRef><NtryDtls><Btch><NbOfTxs>2</NbOfTxs></Btch>`+
		`<TxDtls><Refs><AcctSvcrRef>T-1</AcctSvcrRef></Refs><Amt Ccy="EUR">10</Amt><CdtDbtInd>CRDT</CdtDbtInd>`+acmePart+`</TxDtls>`+
		`<TxDtls><Amt Ccy="EUR">20.00</Amt><RmtInf><Ustrd>rent</Ustrd></RmtInf></TxDtls></NtryDtls>`)
	for _, c := range []struct{ name, text, want string }{
		{"one credit", camt("02", camtNtry("1234.50", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart))),
			"acme B-1 2026-03-31 1234.5 EUR"},
		{"names one level deeper, the state as a code, a time for a day", strings.NewReplacer("<Nm>", "<Pty><Nm>", "</Nm>", "</Nm></Pty>", "<Sts>BOOK</Sts>", "<Sts><Cd>BOOK</Cd></Sts>",
			"<Dt>2026-03-31</Dt>", "<DtTm>2026-03-31T23:59:00+02:00</DtTm>").Replace(camt("08", camtNtry("1.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart)))),
			"acme B-1 2026-03-31 1 EUR"},
		{"with a prefix", strings.NewReplacer("</", "</n:", "<?", "<?", "<", "<n:", "xmlns=", "xmlns:n=").Replace(camt("02", camtNtry("1.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart)))),
			"acme B-1 2026-03-31 1 EUR"},
		{"a notification", strings.NewReplacer("camt.053", "camt.054", "BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn", "Stmt>", "Ntfctn>").Replace(camt("02", camtNtry("1.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart)))),
			"acme B-1 2026-03-31 1 EUR"},
		{"something else", camt("02", camtNtry("50.00", "CRDT", part(`<RltdPties><Dbtr><Nm>Landlord</Nm></Dbtr></RltdPties>`))),
			"left: no bank_senders is in its words"},
		{"taken back", camt("02", camtNtry("5.00", "DBIT", "<RvslInd>true</RvslInd><AcctSvcrRef>B-2</AcctSvcrRef>"+part(acmePart))),
			"acme B-2 2026-03-31 -5 EUR"},
		{"not booked", camt("02", strings.Replace(camtNtry("5.00", "CRDT", part(acmePart)), "BOOK", "PDNG", 1)), "left: it is not booked yet"},
		{"a text without an end", camt("02", camtNtry("5.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart+"<AddtlTxInf>"+strings.Repeat("\u00e9", 3000)+"</AddtlTxInf>"))),
			"acme B-1 2026-03-31 5 EUR"},
		{"nothing", camt("02", camtNtry("0.00", "CRDT", part(acmePart))), "left: its amount is 0"},
		{"a batch by its parts", camt("04", both), "acme B-9/1 2026-03-31 10 EUR\nleft: no bank_senders is in its words"},
		{"a batch whose parts do not add up", camt("04", strings.Replace(both, ">10<", ">11<", 1)), "acme B-9 2026-03-31 30 EUR"},
		{"a fee that is named", camt("02", camtNtry("98.50", "CRDT", "<AcctSvcrRef>B-3</AcctSvcrRef><Chrgs><Amt Ccy=\"EUR\">1.50</Amt></Chrgs>"+
			part(`<AmtDtls><InstdAmt><Amt Ccy="EUR">100.00</Amt></InstdAmt></AmtDtls>`+acmePart))), "acme B-3 2026-03-31 98.5 EUR fee 1.5"},
		{"a fee within the amount", camt("04", camtNtry("98.50", "CRDT", "<AcctSvcrRef>B-3</AcctSvcrRef><Chrgs><Rcrd><Amt Ccy=\"EUR\">1.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><ChrgInclInd>true</ChrgInclInd></Rcrd></Chrgs>"+part(acmePart))),
			"acme B-3 2026-03-31 98.5 EUR fee 1.5"},
		{"a fee beside the amount", camt("04", camtNtry("100.00", "CRDT", "<AcctSvcrRef>B-3</AcctSvcrRef><Chrgs><Rcrd><Amt Ccy=\"EUR\">1.50</Amt><CdtDbtInd>DBIT</CdtDbtInd></Rcrd></Chrgs>"+
			part(`<AmtDtls><InstdAmt><Amt Ccy="EUR">100.00</Amt></InstdAmt></AmtDtls>`+acmePart))), "acme B-3 2026-03-31 100 EUR"},
		{"converted", camt("02", camtNtry("92.10", "CRDT", "<AcctSvcrRef>B-4</AcctSvcrRef>"+
			part(`<AmtDtls><InstdAmt><Amt Ccy="USD">100.00</Amt></InstdAmt></AmtDtls>`+acmePart))), "acme B-4 2026-03-31 92.1 EUR of 100 USD"},
		{"the same twice", camt("02", strings.Repeat(camtNtry("1.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart)), 2)), "acme B-1 2026-03-31 1 EUR"},
		{"one reference for two", camt("02", camtNtry("1.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart))+"\n"+camtNtry("2.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart))),
			"acme B-1 2026-03-31 1 EUR\nacme B-1 2026-03-31 2 EUR\nproblem: line 7: reference \"B-1\" is that of another payment on line 6: import this statement in the CSV form, with references of your own"},
		{"of two accounts", camt("02", camtNtry("1.00", "CRDT", "<AddtlNtryInf>ACME DEALS and Globex GmbH</AddtlNtryInf>")),
			"left: it has the bank_senders of acme and globex: give --account, or longer words\nproblem: line 6: it has the bank_senders of acme and globex: give --account, or longer words"},
		{"too many decimals", camt("02", camtNtry("1.005", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart))),
			"acme B-1 2026-03-31 1.005 EUR\nproblem: line 6: amount is \"1.005\", and its currency has 2 decimals: write 1005 if the point separates thousands, and else 1.01"},
		{"no amount", camt("02", camtNtry("x", "CRDT", part(acmePart))), "problem: line 6: amount is \"x\", which is not an amount"},
		{"cut off", camt("02", camtNtry("1.00", "CRDT", part(acmePart)))[:500], "problem: line 6: is not the XML of a statement: XML syntax error on line 6: unexpected EOF"},
		{"an entity", strings.Replace(camt("02", camtNtry("1.00", "CRDT", part("<RmtInf><Ustrd>&x;</Ustrd></RmtInf>"))), "<Document", "<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><Document", 1),
			"problem: line 6: is not the XML of a statement: XML syntax error on line 6: invalid character entity &x;"},
	} {
		read, err := ReadFile(strings.NewReader(c.text), acmeSenders)
		if got := told(read); err != nil || got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s\n(%v)", c.name, got, c.want, err)
		}
	}
	latin := strings.NewReplacer("UTF-8", "ISO-8859-1", "deals", "deals M\xfcnchen").Replace(camt("02", camtNtry("1.00", "CRDT", "<AcctSvcrRef>B-1</AcctSvcrRef>"+part(acmePart))))
	read, err := ReadFile(strings.NewReader(latin), acmeSenders)
	if err != nil || len(read.Rows) != 1 || !strings.Contains(read.Rows[0].Text, "München") {
		t.Errorf("in another encoding: %+v %v", read, err)
	}
	none := acmeSenders
	none.Account = "other"
	if read, _ := ReadFile(strings.NewReader(camt("02", "")), none); len(read.Problems) != 1 || !strings.Contains(read.Problems[0].Text, "bank_senders") {
		t.Errorf("without bank_senders: %+v", read)
	}
}

// TestMadeUpReferences reads entries to which the bank gives no reference: each file that has one names it the same.
func TestMadeUpReferences(t *testing.T) {
	t.Parallel()
	references := func(text string) (all []string) {
		read, err := ReadFile(strings.NewReader(text), acmeSenders)
		if err != nil || len(read.Problems) > 0 {
			t.Fatal(err, read.Problems)
		}
		for _, r := range read.Rows {
			all = append(all, r.Reference)
		}
		return all
	}
	one, other := camtNtry("1.00", "CRDT", part(acmePart)), camtNtry("2.00", "CRDT", part(acmePart))
	first := references(camt("02", one+one+other))
	if slices.Sort(first); len(slices.Compact(slices.Clone(first))) != 3 {
		t.Errorf("%q", first)
	}
	again := references(camt("08", other+strings.Replace(one+one, "<Ustrd>", "<Ustrd> ", 1)))
	if slices.Sort(again); !slices.Equal(first, again) {
		t.Errorf("another file with the same entries: %q and %q", first, again)
	}
	twice := camt("02", one+other)
	at := strings.Index(twice, "<Stmt>")
	end := strings.Index(twice, "</BkToCstmrStmt>")
	if got := references(twice[:end] + twice[at:end] + twice[end:]); len(got) != 2 {
		t.Errorf("the same statement twice in a file: %q", got)
	}
}

const mt940 = ":20:STARTUMS\r\n:25:12030000/0000202051\r\n:28C:00012/001\r\n:60F:C260330EUR1000,00\r\n" +
	":61:2603310331CR1234,5NTRFNONREF//POS 12\r\n:86:166?00GUTSCHRIFT?109310?20SVWZ+Acme Deals partners pa?21yout 102?32ACME DEALS LTD\r\n" +
	":61:2601021231D99,NDDTKREF+\r\n:86:105?20Electricity\r\n" +
	":61:2603310331RC5,00NTRFNONREF\r\nback\r\n:86:/ORDP//NAME/Acme Deals/REMI/payout 99\r\n:86:of the statement: Acme Deals\r\n" +
	":61:2602280302EC7,00NTRFNONREF\r\n:86:Acme Deals expected\r\n:62F:C260331EUR2130,50\r\n-\r\n"

// TestMT940 reads the older form of statements.
func TestMT940(t *testing.T) {
	t.Parallel()
	read, err := ReadFile(strings.NewReader(mt940), acmeSenders)
	if err != nil || len(read.Problems) > 0 || len(read.Rows) != 2 || len(read.Left) != 2 {
		t.Fatalf("%s %v", told(read), err)
	}
	a, b := read.Rows[0], read.Rows[1]
	if a.Amount.String() != "1234.5" || a.Line != 5 || a.ReceivedOn.Format(time.DateOnly) != "2026-03-31" || !strings.Contains(a.Text, "payout 102 ACME DEALS LTD") {
		t.Errorf("%+v", a)
	}
	if b.Amount.String() != "-5" || !strings.Contains(b.Text, "back") || strings.Contains(b.Text, "of the statement") {
		t.Errorf("%+v", b)
	}
	if read.Left[0].On != "2025-12-31" || read.Left[1].Why != "it is not booked yet" {
		t.Errorf("%+v", read.Left)
	}
	packed := "{1:F01BANKDEFFXXXX0000000000}{2:I940BANKDEFFXXXXN}{4:\r\n" + strings.TrimSuffix(mt940, "-\r\n") + "-}\r\n"
	for name, text := range map[string]string{"in blocks": packed, "twice": mt940 + mt940, "in Windows-1252": strings.Replace(mt940, "Electricity", "\xc9lectricit\xe9", 1)} {
		again, err := ReadFile(strings.NewReader(text), acmeSenders)
		if err != nil || len(again.Problems) > 0 || len(again.Rows) != 2 || again.Rows[1].Reference != b.Reference {
			t.Errorf("%s: %s %v", name, told(again), err)
		}
	}
	for text, want := range map[string]string{
		strings.Replace(mt940, ":60F:C260330EUR1000,00\r\n", "", 1): "is not a payment",
		strings.Replace(mt940, "CR1234,5", "XX1234,5", 1):           "is not a payment",
		strings.Replace(mt940, "260331", "261331", 1):               "is not a payment",
	} {
		if read, _ := ReadFile(strings.NewReader(text), acmeSenders); len(read.Problems) == 0 || !strings.Contains(read.Problems[0].Text, want) {
			t.Errorf("%s", told(read))
		}
	}
}

// TestStatementsOverlap imports a booking from one statement by its parts and from another as a whole, in both orders.
func TestStatementsOverlap(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newWorld(t, scripted())
	x.bookPayout(t, 102, map[string]string{"EUR": "10"})
	x.bookPayout(t, 103, map[string]string{"EUR": "20"})
	x.bookPayout(t, 104, map[string]string{"EUR": "30"})
	x.sync(false, "transactions", "payouts")
	load := func(known int, want ...string) {
		t.Helper()
		read, err := ReadFile(strings.NewReader(camt("04", strings.Join(want[1:], ""))), acmeSenders)
		if err != nil || len(read.Problems) > 0 {
			t.Fatal(told(read), err)
		}
		res, err := Import(t.Context(), x.w, read.Rows, Options{Source: "bank.xml", By: "ann"})
		var added []string
		for _, r := range res.New {
			added = append(added, r.Reference)
		}
		if err != nil || res.Known != known || strings.Join(added, " ") != want[0] {
			t.Errorf("new %q, known %d (want %q and %d) %v", added, res.Known, want[0], known, err)
		}
	}
	parts := func(reference string) string {
		one := func(amount, id string) string {
			return `<TxDtls><Amt Ccy="EUR">` + amount + `</Amt>` + strings.Replace(acmePart, "102", id, 1) + `</TxDtls>`
		}
		return camtNtry("30.00", "CRDT", `<AcctSvcrRef>`+reference+`</AcctSvcrRef><NtryDtls>`+one("10", "102")+one("20", "103")+`</NtryDtls>`)
	}
	whole := func(reference, amount string) string {
		return camtNtry(amount, "CRDT", `<AcctSvcrRef>`+reference+`</AcctSvcrRef>`+part(strings.Replace(acmePart, "102", "104", 1)))
	}
	load(0, "P/1 P/2", parts("P"))
	load(2, "", parts("P"))
	load(1, "", whole("P", "30.00"))
	load(2, "W", parts("P"), whole("W", "30.00"))
	load(2, "", parts("W"))
	load(1, "X", whole("W", "30.00"), whole("X", "1.00"))
	x.states(t, map[string]string{"102 EUR": "received: 10.00 = 10.00", "103 EUR": "received: 20.00 = 20.00", "104 EUR": "received: 30.00 = 30.00"})
}

// TestBankCSV reads the CSV of banks, as the configuration describes it.
func TestBankCSV(t *testing.T) {
	t.Parallel()
	german := map[string]string{"delimiter": ";", "decimal": ",", "date": "DD.MM.YY", "encoding": "windows-1252", "skip": "2", "received_on": "Buchungstag",
		"amount": "Betrag", "currency": "W\u00e4hrung", "text": "Beg\u00fcnstigter/Zahlungspflichtiger + Verwendungszweck"}
	germanFile := "Konto;123\n\n\"Buchungstag\";\"Beg\xfcnstigter/Zahlungspflichtiger\";\"Verwendungszweck\";\"Betrag\";\"W\xe4hrung\"\n" +
		"31.03.26;ACME DEALS LTD;Payout 102;1.234,50;EUR\n30.03.26;Miete;;-850,00;EUR\n;;Summe;384,50;\n31.03.26;Acme Deals;zur\xfcck;-5,00;EUR\n"
	credit := map[string]string{"date": "MM/DD/YYYY", "received_on": "Date", "credit": "In", "debit": "Out", "currency": "USD", "text": "Details", "reference": "Ref"}
	side := map[string]string{"delimiter": `\t`, "received_on": "day", "amount": "sum", "side": "kind = D", "currency": "EUR", "text": "what"}
	for _, c := range []struct {
		name string
		form map[string]string
		text string
		want string
	}{
		{"German", german, germanFile, "acme 2026-03-31 EUR 1234.5 * 2026-03-31 1234.5 EUR\nacme 2026-03-31 EUR -5 * 2026-03-31 -5 EUR\n" +
			"left: no bank_senders is in its words\nleft: no bank_senders is in its words"},
		{"two columns", credit, "Ref,Date,Details,In,Out\nR1,03/31/2026,ACME DEALS,\"1,234.50\",\nR2,03/31/2026,Acme Deals,,5.00\n",
			"acme R1 2026-03-31 1234.5 USD\nacme R2 2026-03-31 -5 USD"},
		{"a column of the side", side, "day\tsum\tkind\twhat\n2026-03-31\t5.00\tD\tacme deals\n2026-03-31\t7.00\tC\tacme deals\n",
			"acme 2026-03-31 EUR -5 * 2026-03-31 -5 EUR\nacme 2026-03-31 EUR 7 * 2026-03-31 7 EUR"},
		{"an amount in another form", credit, "Ref,Date,Details,In,Out\nR1,03/31/2026,ACME DEALS,\"1.234,50\",\n",
			`problem: line 2: In is "1.234,50", and bank_csv says that amounts are as 1234.50`},
		{"a day in another form", credit, "Ref,Date,Details,In,Out\nR1,31.03.2026,ACME DEALS,1,\n",
			`problem: line 2: Date is "31.03.2026", and bank_csv says that days are as MM/DD/YYYY`},
		{"in the form of ours", credit, "reference,received_on,currency,amount\nA,2026-03-31,EUR,1\n", "problem: line 2: account is not given: add the column account, or --account"},
		{"with a sum at the end", credit, "Ref,Date,Details,In,Out\nR1,03/31/2026,ACME DEALS,1.00,\n\nTotal: \"1.00\"\n", "acme R1 2026-03-31 1 USD\nleft: no bank_senders is in its words"},
	} {
		rules := acmeSenders
		rules.CSV = c.form
		read, err := ReadFile(strings.NewReader(c.text), rules)
		got := regexp.MustCompile(` [0-9a-f]{8} `).ReplaceAllString(told(read), " * ")
		if c.name == "in the form of ours" {
			_, got, _ = strings.Cut(got, "\n")
		}
		if err != nil || got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s\n(%v)", c.name, got, c.want, err)
		}
	}
	for text, want := range map[string]string{"1234": "1234", "1,234.5": "1234.5", "1'234.50": "1234.5", "1 234.50": "1234.5", "-1.00": "-1", "1.00-": "-1", "+1.00": "1", "\u22121.00": "-1",
		"1,23": "", "12,34.5": "", "1.2.3": "", "--1": "", "1.00 EUR": "", "(1.00)": "", "1e5": "", ".5": ""} {
		got, wrong := bankCSV{"amount": "a"}.amount(map[string]string{"a": text}, "amount")
		if (wrong == "") != (want != "") || wrong == "" && got.String() != want {
			t.Errorf("%q is %s (%s), want %q", text, got, wrong, want)
		}
	}
}
