package catalog

import "testing"

func TestFind(t *testing.T) {
	t.Parallel()
	if s, err := Find("coupons"); err != nil || s.Name != "coupons" {
		t.Errorf("%v, %v", s, err)
	}
	const want = `there is no stream "coupon": the streams are promotions, coupons, cashback_offers, transactions, ` +
		`payouts and products`
	if _, err := Find("coupon"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
