// Package netreason says in a few words why an address was not reached.
//
// An error of package net names sockets and system calls. A person needs the reason alone:
//
//	_, err := net.Dial("tcp", "center.example:7443")
//	if why, ok := netreason.Of(err); ok {
//		return fmt.Errorf("center.example:7443 is not reached: %s", why) // "connection refused"
//	}
//
// An error of who answered, such as one of TLS or HTTP, has no such reason.
package netreason

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// Of returns why host was not reached, as in "connection refused". It is false for an error that
// does not come from the network: then somebody answered.
func Of(err error) (why string, ok bool) {
	var dns *net.DNSError
	var errno syscall.Errno
	var op *net.OpError
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &dns) && dns.IsNotFound:
		return dns.Name + " does not resolve", true
	case errors.As(err, &dns):
		return "no name server answers for " + dns.Name, true
	case !errors.As(err, &op):
		return "", false
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), op.Timeout():
		return "no answer", true
	case errors.As(err, &errno) && op.Op == "dial":
		return errno.Error(), true
	}
	return "", false
}
