package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/tunnel/netreason"
)

// askTime bounds one request.
const askTime = 15 * time.Second

// load reads a kubeconfig and leads it to the root space of its center.
func load(path string) (config *rest.Config, context string, err error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	if path == "" {
		rules = clientcmd.NewDefaultClientConfigLoadingRules()
	}
	file, err := rules.Load()
	if err != nil {
		return nil, "", err
	}
	config, err = clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(config.Host)
	if err != nil {
		return nil, "", errors.New("the server's address cannot be read")
	}
	u.Path, _, _ = strings.Cut(u.Path, "/clusters/")
	u.Path, _, _ = strings.Cut(u.Path, "/targets/")
	config.Host, config.Timeout, config.UserAgent = u.String(), askTime, "skerry-doctor"
	config.QPS, config.Burst = -1, -1
	return config, file.CurrentContext, nil
}

// answer is what a center says to whoever asks whether it is ready.
type answer struct {
	code    int
	failing []string  // lines of /readyz
	clock   time.Time // zero where it is not told
}

var failedCheck = regexp.MustCompile(`(?m)^\[-\](\S+) failed`)

// ask asks a center whether it is ready, with the credentials of the configuration.
func ask(ctx context.Context, config *rest.Config) (a answer, err error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return a, err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz?verbose", nil)
	if err != nil {
		return a, err
	}
	response, err := client.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	body, err := readBounded(response.Body)
	if err != nil {
		return a, err
	}
	a.code = response.StatusCode
	if a.clock, err = http.ParseTime(response.Header.Get("Date")); err != nil {
		a.clock = time.Time{}
	}
	if a.code != http.StatusOK {
		for _, m := range failedCheck.FindAllStringSubmatch(string(body), -1) {
			a.failing = append(a.failing, m[1])
		}
		if len(a.failing) == 0 && a.code != http.StatusUnauthorized && a.code != http.StatusForbidden {
			a.failing = []string{fmt.Sprintf("HTTP %d", a.code)}
		}
	}
	return a, nil
}

// ways in which a center is not reached.
type way int

const (
	unreached way = iota
	unresolved
	otherCA
	badCertificate
	refused
	noCredentials
)

// reason is why a center is not reached.
type reason struct {
	way    way
	why    string
	notNow bool // of badCertificate: it is not valid now
}

// reach says why a request did not get to a center.
func reach(err error) reason {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var dns *net.DNSError
	var alert tls.AlertError
	switch {
	case errors.As(err, &dns):
		why, _ := netreason.Of(err)
		return reason{way: unresolved, why: why}
	case errors.As(err, &authority):
		return reason{way: otherCA, why: "its certificate is of an authority that the kubeconfig does not have"}
	case errors.As(err, &name):
		return reason{way: badCertificate, why: name.Error()}
	case errors.As(err, &invalid):
		return reason{way: badCertificate, why: invalid.Error(), notNow: invalid.Reason == x509.Expired}
	case errors.As(err, &alert):
		return reason{way: refused, why: alert.Error()}
	case errors.Is(err, syscall.ECONNREFUSED):
		return reason{way: unreached, why: "connection refused"}
	}
	if _, why, ok := strings.Cut(err.Error(), "getting credentials: "); ok { // as client-go calls it
		return reason{way: noCredentials, why: why}
	}
	if why, ok := netreason.Of(err); ok {
		return reason{way: unreached, why: why}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return reason{way: unreached, why: err.Error()}
}
