package netreason

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestOf(t *testing.T) {
	dial := func(err error) error { return fmt.Errorf("try: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	for want, err := range map[string]error{
		"connection refused":                     dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"no route to host":                       dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)),
		"nosuch.invalid does not resolve":        dial(&net.DNSError{Name: "nosuch.invalid", IsNotFound: true}),
		"no name server answers for center.shop": dial(&net.DNSError{Name: "center.shop", IsTimeout: true}),
		"no answer":                              dial(os.ErrDeadlineExceeded),
	} {
		if got, ok := Of(err); got != want || !ok {
			t.Errorf("%v: %q %t, want %q", err, got, ok, want)
		}
	}
	for _, err := range []error{nil, errors.New("403"), &net.OpError{Op: "remote error", Err: errors.New("tls")}} {
		if got, ok := Of(err); ok {
			t.Errorf("%v: %q", err, got)
		}
	}
}
