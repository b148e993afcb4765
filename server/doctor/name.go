package doctor

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/doctor"
)

// names looks whether the certificate of a center that runs has the names that its configuration
// advertises. A center issues it when it starts.
func (c *center) names(ctx context.Context) []doctor.Finding {
	if c.api.config == nil {
		return one(doctor.Skip("no center runs"))
	}
	if len(c.Advertise) == 0 {
		return one(doctor.Skip("no advertise: is set"))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	// What answers was judged by its authority before.
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(c.api.config.Host, "https://"))
	if err != nil {
		return one(doctor.Skip("its certificate is not shown: %s", reach(err).why))
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(dialTime))
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
	var missing []string
	for _, name := range c.Advertise {
		if shown.VerifyHostname(strings.Trim(name, "[]")) != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return one(nameMissing.Fails("the certificate lacks %s", strings.Join(missing, ", ")))
	}
	return one(doctor.Good("%s", strings.Join(c.Advertise, ", ")))
}
