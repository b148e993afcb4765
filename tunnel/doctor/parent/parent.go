package parent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/proxy"
)

// Config says which way is checked, and for whom.
type Config struct {
	// Parents are the addresses of the one parent, https://HOST:PORT each.
	Parents []string
	// Proxy leads to addresses that are not reached directly; nil uses none.
	Proxy *proxy.Dialer
	// Credentials are those of a site that has joined, nil before.
	Credentials *enroll.Credentials
	// Token is the join token's text; "" where there is none. TokenErr is why it cannot be read.
	Token    string
	TokenErr error
	// Dir has the site's key, if there is one. Name and Labels are what it joins with.
	Dir    string
	Name   string
	Labels map[string]string
	// OnClock is called with this machine's time minus the parent's, once that is known. It may be nil.
	OnClock func(offset time.Duration)
	// Needs are checks that stand before the one of who answers.
	Needs []string
	// Version of the site's program.
	Version string
	// Lookup resolves a name; nil asks the machine's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Checks returns the checks of the way to a parent, in their order.
func Checks(cfg Config) []doctor.Check {
	if cfg.Lookup == nil {
		cfg.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	w := &way{Config: cfg}
	return []doctor.Check{
		{Name: "parent.name", What: "the parent's name resolves", Run: w.resolve,
			Faults: []doctor.Fault{addressInvalid, nameUnresolved, dnsSilent}},
		{Name: "parent.tcp", What: "TCP reaches the parent", Needs: []string{"parent.name"}, Run: w.connect,
			Faults: []doctor.Fault{proxyUnreachable, proxyCredentials, proxyRefuses, parentSilent, noRoute,
				nothingListens, tcpBlocked}},
		{Name: "parent.identity", What: "the right center answers", Needs: append([]string{"parent.tcp"}, cfg.Needs...),
			Run: w.identify, Faults: []doctor.Fault{noCenter, tlsStalls, wrongCA, tokenOtherCenter, centerReplaced,
				tokenInvalid, mtuHole}},
		{Name: "parent.udp", What: "UDP reaches the parent, in full packets", Needs: []string{"parent.identity"},
			Run: w.datagrams, Faults: []doctor.Fault{udpBlocked, mtuHole}},
		{Name: "parent.clock", What: "the clocks agree", Needs: []string{"parent.identity"}, Run: w.compareClocks,
			Faults: []doctor.Fault{clockOff}},
		{Name: "parent.admission", What: "the parent lets this site in", Needs: []string{"parent.clock"},
			Run: w.examine, Faults: []doctor.Fault{tokenMissing, tokenUnknown, tokenUsed, tokenExpired,
				nameRefused, nameInUse, labelsRefused, revoked, unknownSite, centerExpired}},
		{Name: "parent.certificate", What: "the site's certificate is valid", Needs: []string{"parent.admission"},
			Run: w.certificate, Faults: []doctor.Fault{certificateExpired}},
		{Name: "parent.version", What: "the versions fit", Needs: []string{"parent.admission"},
			Run: w.compareVersions, Faults: []doctor.Fault{versionNewer, versionOlder}},
	}
}

// way is what the checks learn one after the other.
type way struct {
	Config
	found  []address
	at     address // the first that TCP reaches
	udp    datagrams
	theirs time.Time // by the parent's clock, when at here
	here   time.Time
	center string // its version
}

// address is one configured address of the parent.
type address struct {
	url, hostPort, host string
	proxied             bool
	// ips are the IP:PORT that it stands for, or HOST:PORT where a proxy looks the name up; first is
	// the one that is used.
	ips   []string
	first string
}

// defaultPort is a center's.
const defaultPort = "7443"

func parse(text string) (a address, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		return a, fmt.Errorf("%q is not of the form https://HOST:PORT", withoutUser(text))
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	a.host, a.hostPort = u.Hostname(), net.JoinHostPort(u.Hostname(), port)
	a.url, a.ips = "https://"+a.hostPort, []string{a.hostPort}
	return a, nil
}

// withoutUser takes what may be a password out of an address that was refused.
func withoutUser(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "https://..." + text[i:]
	}
	return text
}

func (w *way) resolve(ctx context.Context) (out []doctor.Finding) {
	if len(w.Parents) == 0 {
		return one(addressInvalid.Fails("no parent is configured"))
	}
	for _, text := range w.Parents {
		a, err := parse(text)
		if err != nil {
			out = append(out, addressInvalid.Fails("%s", err))
			continue
		}
		if a.proxied = w.Proxy.Uses(a.hostPort); a.proxied {
			w.found = append(w.found, a)
			continue
		}
		if f, ok := w.lookUp(ctx, &a); !ok {
			out = append(out, f)
			continue
		}
		w.found = append(w.found, a)
	}
	return w.several(out, len(w.found) > 0)
}

// several makes warnings of faults of single addresses while another one works.
func (w *way) several(out []doctor.Finding, works bool) []doctor.Finding {
	for i := range out {
		if works && out[i].Verdict == doctor.Failed {
			out[i].Verdict = doctor.Warning
		}
	}
	return out
}

// maxAddresses bounds how many addresses of one name are tried, as an agent does.
const maxAddresses = 4

// lookupTime bounds a DNS lookup, whose answer may never come.
const lookupTime = 10 * time.Second

func (w *way) lookUp(ctx context.Context, a *address) (f doctor.Finding, ok bool) {
	if _, err := netip.ParseAddr(a.host); err == nil {
		return f, true
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	ips, err := w.Lookup(ctx, a.host)
	var dns *net.DNSError
	switch {
	case err == nil && len(ips) > 0:
		_, port, _ := net.SplitHostPort(a.hostPort)
		a.ips = nil
		for _, ip := range ips[:min(len(ips), maxAddresses)] {
			a.ips = append(a.ips, net.JoinHostPort(ip.Unmap().String(), port))
		}
		return f, true
	case err == nil, errors.As(err, &dns) && dns.IsNotFound:
		return nameUnresolved.Fails("%s does not resolve", a.host).On(a.hostPort), false
	default:
		return dnsSilent.Fails("no name server answers for %s", a.host).On(a.hostPort), false
	}
}
