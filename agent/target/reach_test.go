package target

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

func TestReach(t *testing.T) {
	r := newReach()
	told := func() bool {
		select {
		case <-r.Changed():
			return true
		default:
			return false
		}
	}
	r.sent(time.Now(), 200, nil)
	r.sent(time.Now(), 403, nil)
	r.sent(time.Now(), 500, nil)
	r.sent(time.Now(), 0, context.Canceled)
	if _, _, failing := r.Failing(); failing || told() {
		t.Error("an answer counts as none")
	}
	began := time.Now()
	r.sent(time.Now(), 0, errors.New("first"))
	since, _, failing := r.Failing()
	if !failing || since.Before(began) || !told() {
		t.Errorf("failing %v since %v", failing, since)
	}
	r.sent(time.Now(), 401, nil)
	again, why, _ := r.Failing()
	if reason, _ := Unreachable(why); again != since || reason != "Unauthorized" || told() {
		t.Errorf("%v since %v instead of %v", why, again, since)
	}
	r.sent(time.Now(), 404, nil)
	if _, _, failing := r.Failing(); failing || !told() {
		t.Error("it is not taken back by an answer")
	}
	var none *Reach
	none.sent(time.Now(), 0, errors.New("nobody asks"))
}

func TestUnreachable(t *testing.T) {
	cases := map[string]error{
		"ConnectionRefused":  &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"CertificateInvalid": fmt.Errorf("tls: %w", x509.UnknownAuthorityError{}),
		"NameNotFound":       &net.DNSError{Err: "no such host", Name: "x"},
		"Timeout":            fmt.Errorf("reach: %w", context.DeadlineExceeded),
		"Unreachable":        errors.New("EOF"),
	}
	for want, err := range cases {
		if reason, advice := Unreachable(err); reason != want || advice == "" {
			t.Errorf("%v: %s, %q", err, reason, advice)
		}
	}
}
