package enroll

import (
	"crypto/x509"
	"fmt"
	"time"
)

// VerifyAgent checks that a certificate is an authority's for an agent, whatever the time is: an expired one may still renew itself, and
// the session holds it to that (tunnel.Welcome.RenewOnly). One whose time has not come is refused.
func VerifyAgent(leaf *x509.Certificate, authorities *x509.CertPool) error {
	at := time.Now()
	if at.After(leaf.NotAfter) {
		at = leaf.NotAfter
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return fmt.Errorf("verify the agent's certificate: %w", err)
	}
	_, err = IdentityOf(leaf)
	return err
}
