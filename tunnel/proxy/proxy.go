package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Direct is the value of Config.URL that means no proxy at all, whatever the environment says.
const Direct = "direct"

// Config says which proxy is used.
type Config struct {
	// URL is http://[USER:PASSWORD@]HOST:PORT, or https:// for a proxy that speaks TLS. Empty means
	// the environment's proxy, Direct none.
	URL string
	// File has the URL instead, so that no command line has credentials.
	File string
	// TLS verifies a proxy that speaks TLS; nil trusts what the machine trusts.
	TLS *tls.Config
}

// Dialer opens connections, through a proxy if one is set. A nil Dialer never uses a proxy.
type Dialer struct {
	choose func(*url.URL) (*url.URL, error)
	tls    *tls.Config
}

// New returns a dialer. NO_PROXY always applies.
func New(cfg Config) (*Dialer, error) {
	text := cfg.URL
	if cfg.File != "" {
		if text != "" {
			return nil, errors.New("the proxy is given twice, as URL and as file")
		}
		data, err := os.ReadFile(cfg.File)
		if err != nil {
			return nil, fmt.Errorf("read the proxy's URL: %w", err)
		}
		if text = strings.TrimSpace(string(data)); text == "" {
			return nil, fmt.Errorf("the file %s is to hold the proxy's URL and is empty", cfg.File)
		}
	}
	env := httpproxy.FromEnvironment()
	switch text {
	case Direct:
		return nil, nil
	case "":
	default:
		if err := check(text); err != nil {
			return nil, err
		}
		env.HTTPSProxy = text
	}
	return &Dialer{choose: env.ProxyFunc(), tls: cfg.TLS}, nil
}

// check does not quote its argument: it may have a password.
func check(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New(
			"the proxy's URL cannot be read: write http://USER:PASSWORD@HOST:PORT, special characters in the password as %XX",
		)
	}
	return nil
}

// proxyOf returns the proxy that leads to an address, nil for none.
func (d *Dialer) proxyOf(address string) (*url.URL, error) {
	if d == nil {
		return nil, nil
	}
	u, err := d.choose(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, errors.New(
			"the proxy that the environment names cannot be used: write HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT",
		)
	}
	return u, nil
}

// Uses reports whether HOST:PORT is reached through a proxy.
func (d *Dialer) Uses(address string) bool {
	u, err := d.proxyOf(address)
	return u != nil || err != nil
}

// maxSegment is the payload of a TCP segment that passes a path of 1,200 bytes, with room for IPv6
// and a tunnel around it.
const maxSegment = 1100

// keepAlive detects a proxy, or a parent, that went away.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 10 * time.Second, Count: 4}

func dialer() *net.Dialer { return &net.Dialer{Control: smallSegments, KeepAliveConfig: keepAlive} }

// DialContext opens a TCP connection to HOST:PORT.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	u, err := d.proxyOf(address)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return dialer().DialContext(ctx, network, address)
	}
	return connect(ctx, u, d.tls, address)
}
