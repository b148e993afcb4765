package pki

import (
	"slices"
	"testing"
)

// A name that was advertised stays in the certificate, over a restart without it, until it is taken
// off. One by which the center is reached cannot be.
func TestFormerNamesStay(t *testing.T) {
	p, dir := load(t)
	serve := func(p *PKI, hosts ...string) (s *Serving, names func(name string) bool) {
		t.Helper()
		s, err := p.Serving(hosts...)
		must(t, err)
		p.Advertise(hosts, hosts[:1])
		return s, func(name string) bool {
			t.Helper()
			cert, err := s.Certificate(nil)
			must(t, err)
			return cert.Leaf.VerifyHostname(name) == nil
		}
	}
	serve(p, "old.example.com", "localhost")
	if p.NamesKept() {
		t.Error("a name is recorded before KeepNames")
	}
	must(t, p.KeepNames())
	again, err := reload(dir)
	must(t, err)
	_, has := serve(again, "10.0.0.5", "localhost")
	must(t, again.KeepNames())
	if !has("old.example.com") || !has("10.0.0.5") {
		t.Error("the certificate lacks a name")
	}
	if former := again.Authorities().FormerNames; len(former) != 1 || former[0].Name != "old.example.com" {
		t.Errorf("former names %v", former)
	}
	must(t, again.ForgetNames("10.0.0.5"))
	if !has("10.0.0.5") || !slices.Contains(again.state.Names, "10.0.0.5") {
		t.Error("a name is forgotten that is in use")
	}
	must(t, again.ForgetNames("OLD.example.com"))
	if has("old.example.com") {
		t.Error("the certificate has a name that was taken off")
	}
	last, err := reload(dir)
	must(t, err)
	if _, has := serve(last, "c.example.com"); has("old.example.com") || !has("10.0.0.5") {
		t.Errorf("after a restart: %v", last.state.Names)
	}
}
