package enroll

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

const day = 24 * time.Hour

// In a bubble the machine's clock begins in the year 2000. The centers of these tests live in true,
// which is mostly later.
var machineStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// party is a center as TLS sees it: an authority, and a certificate for one span of time.
type party struct {
	ca, leaf *x509.Certificate
	key      *ecdsa.PrivateKey
}

func newParty(t *testing.T, from, to time.Time) *party {
	t.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &party{}
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "ca"},
		NotBefore:             from,
		NotAfter:              from.Add(10 * 365 * day),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	sign := func(template, parent *x509.Certificate, public any) *x509.Certificate {
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, caKey)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	p.ca = sign(ca, ca, caKey.Public())
	p.leaf = sign(
		&x509.Certificate{
			SerialNumber: big.NewInt(2),
			NotBefore:    from,
			NotAfter:     to,
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		},
		p.ca,
		p.key.Public(),
	)
	return p
}

// dial does the handshake of a site with this clock and this party's authority. Nothing of it is
// faked but the wire.
func (p *party) dial(t *testing.T, clock *Clock) error {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	server := tls.Server(
		far,
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{p.leaf.Raw, p.ca.Raw}, PrivateKey: p.key}}},
	)
	done := make(chan struct{})
	go func() { _ = server.Handshake(); far.Close(); close(done) }()
	c := &Credentials{clock: clock, bundle: keyfile.EncodeCertificates(p.ca)}
	config := c.TLS()
	config.NextProtos, config.GetClientCertificate = nil, nil
	err := tls.Client(near, config).Handshake()
	near.Close()
	<-done
	return err
}

// A machine whose clock is at its beginning, or years off, still knows its center, and does not
// take a certificate that has ended: neither right away, nor with what an earlier process knew, nor
// after the clock was set during the session.
func TestCertificatesAndWrongClocks(t *testing.T) {
	truth := machineStart.Add(26 * 365 * day)
	for _, c := range []struct {
		name     string
		state    ClockState
		learn    time.Time // what a parent has told this process
		from, to time.Time // of the center's certificate
		want     error
	}{
		{"right clock", ClockState{}, time.Time{}, machineStart.Add(-day), machineStart.Add(day), nil},
		{"right clock, ended", ClockState{}, time.Time{}, machineStart.Add(-2 * day), machineStart.Add(-day), ErrEnded},
		{"26 years behind, nothing known", ClockState{}, time.Time{}, truth.Add(-day), truth.Add(364 * day), nil},
		{"26 years behind, last trusted time known", ClockState{Least: truth.Add(-30 * day)}, time.Time{},
			truth.Add(-day), truth.Add(364 * day), nil},
		{"26 years behind, known to have ended", ClockState{Least: truth}, time.Time{},
			truth.Add(-40 * day), truth.Add(-day), ErrEnded},
		{"26 years behind, told so, ended", ClockState{}, truth, truth.Add(-40 * day), truth.Add(-day), ErrEnded},
		{"26 years behind, told so", ClockState{}, truth, truth.Add(-40 * day), truth.Add(day), nil},
		{"an hour behind", ClockState{}, time.Time{}, machineStart.Add(time.Hour - time.Minute), machineStart.Add(day), nil},
		{"an hour ahead", ClockState{}, time.Time{}, machineStart.Add(-day), machineStart.Add(300 * day), nil},
		{"an hour ahead, an hour after the end", ClockState{}, time.Time{}, machineStart.Add(-day),
			machineStart.Add(-time.Minute), ErrEnded},
		{"2 years ahead, offset known", ClockState{Least: machineStart.Add(-731 * day), Offset: 730 * day},
			time.Time{}, machineStart.Add(-740 * day), machineStart.Add(-375 * day), nil},
		{"2 years ahead, offset known, ended before the last trusted time",
			ClockState{Least: machineStart.Add(-731 * day), Offset: 730 * day}, time.Time{},
			machineStart.Add(-1100 * day), machineStart.Add(-735 * day), ErrEnded},
		{"2 years ahead, told so", ClockState{}, machineStart.Add(-730 * day), machineStart.Add(-740 * day),
			machineStart.Add(-375 * day), nil},
		{"the clock was set right since the offset was seen",
			ClockState{Least: machineStart.Add(-day), Offset: -26 * 365 * day}, time.Time{},
			machineStart.Add(-day), machineStart.Add(day), nil},
		{"the parent was once 10 years ahead", ClockState{Least: machineStart.Add(-day)},
			machineStart.Add(3650 * day), machineStart.Add(-day), machineStart.Add(day), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newParty(t, c.from, c.to)
			synctest.Test(t, func(t *testing.T) {
				clock := NewClock(c.state)
				if !c.learn.IsZero() {
					clock.Learn(c.learn)
				}
				if err := p.dial(t, clock); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("dial: %v, want %v", err, c.want)
				}
				again := NewClock(clock.State())
				if err := p.dial(t, again); c.learn.IsZero() && (err == nil) != (c.want == nil) {
					t.Errorf("dial after a restart: %v, want %v", err, c.want)
				}
			})
			other := newParty(t, c.from, c.to)
			synctest.Test(t, func(t *testing.T) {
				stranger := &party{ca: p.ca, leaf: other.leaf, key: other.key}
				if err := stranger.dial(t, NewClock(c.state)); err == nil {
					t.Errorf("a certificate of another authority: %v", err)
				}
			})
		})
	}
}

// The time that is kept only goes forward, follows the parent during a session, and never runs
// ahead of both clocks.
func TestLeastTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock(ClockState{})
		if _, ok := clock.Offset(); ok || !clock.State().Least.IsZero() {
			t.Error("a new clock knows something")
		}
		parent := machineStart.Add(10 * 365 * day)
		clock.Learn(parent)
		if got := clock.State(); !got.Least.Equal(machineStart) || got.Offset != -3650*day {
			t.Errorf("one of two clocks is wrong, the least is %+v", got)
		}
		if offset, ok := clock.Offset(); !ok || offset != -3650*day || !clock.Now().Equal(parent) {
			t.Errorf("offset %s, now %s", offset, clock.Now())
		}
		time.Sleep(3 * day)
		if got := clock.State().Least; !got.Equal(machineStart.Add(3 * day)) {
			t.Errorf("three days later it is %s", got)
		}
		if !clock.Now().Equal(parent.Add(3 * day)) {
			t.Errorf("three days later it is %s", clock.Now())
		}
		clock.Learn(machineStart) // the parent went back
		if got := clock.State().Least; !got.Equal(machineStart.Add(3 * day)) {
			t.Errorf("it went back to %s", got)
		}
		// A machine whose clock is proven wrong believes the parent.
		behind := NewClock(ClockState{Least: parent.Add(-day)})
		behind.Learn(parent)
		if got := behind.State().Least; !got.Equal(parent) {
			t.Errorf("behind: least %s", got)
		}
		if now := NewClock(behind.State()).Now(); !now.Equal(parent) {
			t.Errorf("after a restart at the same moment it is %s, want %s", now, parent)
		}
	})
}

// What others are judged by is the machine's clock, until it is known to be wrong; then it is what
// the parent said, or at least what was proven.
func TestTimeForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proven, parent := machineStart.Add(26*365*day), machineStart.Add(27*365*day)
		c := NewClock(ClockState{})
		if got := c.Time(); !got.Equal(machineStart) {
			t.Errorf("nothing is known: %s", got)
		}
		c.Learn(parent)
		if got := c.Time(); !got.Equal(machineStart) {
			t.Errorf("two clocks differ, and this one may be right: %s", got)
		}
		c = NewClock(ClockState{Least: proven})
		if got := c.Time(); !got.Equal(proven) {
			t.Errorf("the clock is behind what is proven: %s, want %s", got, proven)
		}
		c.Learn(parent)
		time.Sleep(time.Hour)
		if got := c.Time(); !got.Equal(parent.Add(time.Hour)) {
			t.Errorf("the parent has told the time: %s", got)
		}
		c = NewClock(ClockState{Least: machineStart.Add(-day)})
		c.Learn(machineStart.Add(-365 * day))
		if got := c.Time(); !got.Equal(time.Now()) {
			t.Errorf("a parent that is behind sets a clock back that may be right: %s", got)
		}
	})
}
