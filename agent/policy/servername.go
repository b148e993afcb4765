package policy

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// misnamed says why TLS with a Service cannot work at the site, where its namespace has another
// name than in the space: the API server expects a certificate for SERVICE.NAMESPACE.svc with the
// site's name. That can be seen only where the bundle is the certificate itself.
func misnamed(bundle []byte, s *webhookService, there string) string {
	if there == s.Namespace {
		return ""
	}
	name, serving := s.Name+"."+there+".svc", false
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || c.IsCA || c.VerifyHostname(name) == nil {
			return "" // an authority, whose certificates are not known, or a fitting one
		}
		serving = true
	}
	if !serving {
		return ""
	}
	return fmt.Sprintf("its certificate is not for %s, as the Service is called at this site; "+
		"give it that name, too", name)
}
