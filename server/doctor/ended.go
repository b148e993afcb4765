package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// ended says since when the client certificate of a kubeconfig is over, "" if it is not, or has none.
func ended(config *rest.Config, now time.Time) string {
	text := config.CertData
	if len(text) == 0 && config.CertFile != "" {
		text, _ = os.ReadFile(config.CertFile) // a file that cannot be read is another fault
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return ""
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || now.Before(cert.NotAfter) {
		return ""
	}
	return ": the client certificate ended at " + cert.NotAfter.UTC().Format(time.RFC3339)
}
