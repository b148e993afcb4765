package doctor

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel/doctor"
)

const (
	// dialTime bounds a connection to the datastore.
	dialTime = 5 * time.Second
	// probeTime bounds what is asked of a datastore to which a connection was made.
	probeTime = 15 * time.Second
)

// datastore connects to the hosts of a URL, and then asks the datastore as a replica does. The URL has
// a password, which is never shown.
func (c *center) datastore(ctx context.Context) []doctor.Finding {
	hosts, err := hostsOf(c.Datastore)
	if err != nil {
		return one(datastoreDown.Fails("%s", err))
	}
	answers, why := "", []string{}
	for _, host := range hosts {
		dialer := net.Dialer{Timeout: dialTime}
		conn, err := dialer.DialContext(ctx, "tcp", host)
		if err == nil {
			conn.Close()
			answers = host
			break
		}
		why = append(why, reach(err).why)
	}
	if answers == "" {
		return one(datastoreDown.Fails("%s: %s", strings.Join(hosts, ", "), strings.Join(why, ", ")))
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	err = kine.Probe(ctx, kine.Config{Endpoint: c.Datastore, EndpointFiles: c.DatastoreFiles})
	if err == nil {
		return one(doctor.Good("%s answers, and takes writes", answers))
	}
	for is, fault := range map[error]doctor.Fault{kine.ErrRefused: datastoreRefuses, kine.ErrCrowded: datastoreCrowded,
		kine.ErrFull: datastoreFull, kine.ErrReadOnly: datastoreReadOnly} {
		if errors.Is(err, is) {
			return one(fault.Fails("%s", c.withoutPassword(err)))
		}
	}
	return one(datastoreDown.Fails("%s connects, and then: %s", answers, c.withoutPassword(err)))
}

// withoutPassword is an error of a library that knows the datastore's URL, on one line.
func (c *center) withoutPassword(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for endpoint := range strings.SplitSeq(c.Datastore, ",") {
		if u, err := url.Parse(endpoint); err == nil {
			if password, ok := u.User.Password(); ok && password != "" {
				text = strings.ReplaceAll(text, password, "xxxxx")
			}
		}
	}
	return text
}

// hostsOf returns the HOST:PORT of a datastore's URLs, with commas between them.
func hostsOf(datastore string) (hosts []string, err error) {
	ports := map[string]string{"postgres": "5432", "postgresql": "5432", "https": "2379", "http": "2379"}
	for _, text := range strings.Split(datastore, ",") {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return nil, errors.New("datastore-endpoint: is no URL with a host")
		}
		port := u.Port()
		if port == "" {
			port = ports[u.Scheme]
		}
		hosts = append(hosts, net.JoinHostPort(u.Hostname(), port))
	}
	return hosts, nil
}
