package exchange

import "testing"

// A space has no more than its share, and no site more than it may.
func TestSeats(t *testing.T) {
	s := Seats{Most: MostOfServices, MostOfSpace: MostServicesOfSpace}
	var give []func()
	for range MostServicesOfSpace {
		give = append(give, s.Take("shop"))
	}
	if s.Take("shop") != nil {
		t.Error("a space has more than its share")
	}
	for range MostOfServices - MostServicesOfSpace {
		give = append(give, s.Take("team"))
	}
	if s.Take("other") != nil {
		t.Error("a site has more than it may")
	}
	for _, g := range give {
		g()
	}
	if all, spaces := s.Taken(); all != 0 || spaces != 0 {
		t.Errorf("%d of %d spaces are left", all, spaces)
	}
}
