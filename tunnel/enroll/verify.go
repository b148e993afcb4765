package enroll

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// VerifyAgent checks that an authority issued the certificate for an agent. It ignores the time: an
// expired certificate may still be renewed, and the session allows only that
// (tunnel.Welcome.RenewOnly). One from the future was signed here before this clock was set back.
func VerifyAgent(leaf *x509.Certificate, authorities *x509.CertPool) error {
	at := time.Now()
	if at.After(leaf.NotAfter) {
		at = leaf.NotAfter
	} else if at.Before(leaf.NotBefore) {
		at = leaf.NotBefore
	}
	_, err := leaf.Verify(
		x509.VerifyOptions{
			Roots:       authorities,
			CurrentTime: at,
			KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		},
	)
	if err != nil {
		return fmt.Errorf("verify the agent's certificate: %w", err)
	}
	_, err = IdentityOf(leaf)
	return err
}

// whenever judges a certificate at a time when it is valid. That is only for asking the center what
// time it is.
func whenever(notBefore time.Time) []time.Time { return []time.Time{notBefore.Add(time.Minute)} }

// byMachine judges a certificate by the machine's clock.
func byMachine(time.Time) []time.Time { return []time.Time{time.Now()} }

// verifying is a client configuration that verifies the server's chain against the roots for the
// connection, and not its name. A center is reached by many names; its authority says who it is.
// The chain must be valid at one of the times that it is told for the certificate's beginning.
func verifying(
	roots rootsOf,
	timesOf func(notBefore time.Time) []time.Time,
) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection verifies
		VerifyConnection: func(s tls.ConnectionState) error {
			pool, err := roots(s)
			if err != nil {
				return err
			}
			leaf, between := s.PeerCertificates[0], x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				between.AddCert(c)
			}
			for _, at := range timesOf(leaf.NotBefore) {
				_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: at,
					KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
				var invalid x509.CertificateInvalidError
				if !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
					break
				}
				err = fmt.Errorf(
					"%w: it is valid from %s to %s, and here it is %s: %w",
					ErrEnded,
					leaf.NotBefore.UTC().Format(
						time.RFC3339,
					),
					leaf.NotAfter.UTC().Format(time.RFC3339),
					at.UTC().Format(time.RFC3339),
					err,
				)
			}
			if err != nil && !errors.Is(err, ErrEnded) {
				return fmt.Errorf("%w: %w", ErrWrongCA, err)
			}
			return err
		},
	}
}
