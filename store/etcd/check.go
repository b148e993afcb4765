package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-semver/semver"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Oldest is the oldest etcd that is accepted. Earlier ones may tell a watch that it has all events
// before they have sent them (etcd issues 15220 and 17507): it would lose some. Of 3.4 it is 3.4.31.
const Oldest = "3.5.13"

var (
	oldest   = *semver.New(Oldest)
	oldest34 = *semver.New("3.4.31")
	first35  = *semver.New("3.5.0")
)

// ErrTooOld is returned by Open for a member whose etcd is older than Oldest.
var ErrTooOld = errors.New("upgrade it to " + Oldest + " or newer: older ones lose events of watches")

// checkTimeout is how long a member may take to say its version.
const checkTimeout = 5 * time.Second

// shakeTimeout is how long each step of a look for a cause may take.
const shakeTimeout = 2 * time.Second

// check asks each member for its version. One that does not answer may come later; all that do not
// answer are an error.
func (c *Cluster) check(ctx context.Context) error {
	answers := make([]error, len(c.address.members))
	var asking sync.WaitGroup
	for i, member := range c.address.members {
		asking.Go(func() { answers[i] = c.checkMember(ctx, member) })
	}
	asking.Wait()
	var errs []error
	for _, err := range answers {
		if errors.Is(err, ErrTooOld) {
			return err
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == len(c.address.members) {
		return fmt.Errorf("no member of the datastore answers: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		c.log.Warn("a member of the datastore does not answer; the others are used", "err", err)
	}
	return nil
}

func (c *Cluster) checkMember(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	told, err := c.client.Status(ctx, member)
	if err != nil {
		if cause := c.shake(member); cause != nil {
			return fmt.Errorf("%s: %w", member, cause)
		}
		return fmt.Errorf("%s: %w", member, explain(err))
	}
	if !accepted(told.Version) {
		return fmt.Errorf("the etcd at %s is %s: %w", member, told.Version, ErrTooOld)
	}
	return nil
}

// shake looks for why a member does not answer: the client says no more than that it took too long.
// It returns nil if it finds nothing.
func (c *Cluster) shake(member string) error {
	address := strings.TrimPrefix(strings.TrimPrefix(member, "https://"), "http://")
	conn, err := net.DialTimeout("tcp", address, shakeTimeout)
	if err != nil {
		return fmt.Errorf("it cannot be reached: %w", err)
	}
	defer conn.Close()
	if c.tls == nil {
		return nil
	}
	config := c.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address)
	_ = conn.SetDeadline(time.Now().Add(shakeTimeout))
	peer := tls.Client(conn, config)
	if err = peer.Handshake(); err == nil {
		_, err = peer.Read(make([]byte, 1)) // a refusal comes after the handshake
	}
	var alert tls.AlertError
	var network *net.OpError
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("its certificate is not of an authority of --datastore-ca-file, or is for another name: %w", err)
	case errors.As(err, &alert), errors.As(err, &network) && network.Op == "remote error":
		return fmt.Errorf("%w: it does not accept the certificate of --datastore-cert-file: %w", ErrRefused, err)
	}
	return nil
}

func accepted(version string) bool {
	v, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	if v.LessThan(first35) {
		return !v.LessThan(oldest34)
	}
	return !v.LessThan(oldest)
}

// explain adds to an error of reaching a member what to do.
func explain(err error) error {
	code := status.Code(err)
	var told rpctypes.EtcdError
	if errors.As(err, &told) {
		code = told.Code()
	}
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty), code == codes.PermissionDenied,
		code == codes.Unauthenticated:
		return fmt.Errorf("%w: see the user and password of the endpoint, and the rights of its role (%w)",
			ErrRefused, err)
	case code == codes.DeadlineExceeded, code == codes.Unavailable, errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("see that it runs and that --datastore-ca-file, --datastore-cert-file and "+
			"--datastore-key-file are those of this etcd (%w)", err)
	}
	return err
}
