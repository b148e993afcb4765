package ingress

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

// An Ingress has the address while it is served; who is not hears why, once.
func TestStatusAndEvents(t *testing.T) {
	c := web(t, echo)
	c.eventually("it has the address", func() bool { return c.shows("shop", "web") == "192.0.2.1" })
	c.ingress("shop", "strange", m{"rules": []any{rule("b.test", "Prefix /", "web")}})
	c.eventually("it hears why", func() bool { return strings.Contains(c.told(), "strange: host b.test is not served") })
	c.grant("shop", "a.test", "b.test")
	c.eventually("it is served", func() bool { return c.shows("shop", "strange") == "192.0.2.1" })
	c.grant("shop", "b.test")
	c.eventually("without the grant it has no address", func() bool { return c.shows("shop", "web") == "" })
	if code, _ := c.get("http://a.test/"); code != http.StatusNotFound {
		t.Errorf("without the grant: %d", code)
	}
	if n := strings.Count(c.told(), "strange: "); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	// An Ingress of another class has no address of the center.
	c.put(ingressKey("shop", "strange"), m{"metadata": m{"uid": "uid-strange"}, "spec": m{"ingressClassName": "traefik"},
		"status": m{"loadBalancer": m{"ingress": []any{m{"ip": "192.0.2.1"}}}}})
	c.eventually("it lets go of it", func() bool { return c.shows("shop", "strange") == "" })
	c.grant("shop")
	c.put(ingressKey("shop", "web"), nil)
	c.eventually("nothing is known of it", func() bool {
		c.Controller.mu.Lock()
		defer c.Controller.mu.Unlock()
		return len(c.Controller.services)+len(c.Controller.told)+len(c.addresses)+len(c.used) == 0
	})
}

// A Service that comes later, or again, is called; while an Ingress names one that was not read yet, it is as it was.
func TestServicesComeAndGo(t *testing.T) {
	c := web(t, echo)
	k := store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}
	c.put(k, nil)
	c.eventually("it is not there", func() bool { code, _ := c.get("http://a.test/"); return code == http.StatusServiceUnavailable })
	c.eventually("which is said", func() bool { return strings.Contains(c.told(), "there is no Service web") })
	c.service("shop", "web")
	c.eventually("it is there again", func() bool { code, _ := c.get("http://a.test/"); return code == http.StatusOK })
	c.service("shop", "next")
	c.app("next", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "next") })
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web", "Prefix /next", "next")}})
	c.eventually("the next one is called", func() bool {
		if code, _ := c.get("http://a.test/"); code != http.StatusOK {
			t.Errorf("meanwhile: %d", code)
		}
		_, text := c.get("http://a.test/next")
		return text == "next"
	})
}

// What is about to be written hears what is not served, not what may come later.
func TestWordsBeforeItIsWritten(t *testing.T) {
	c := web(t, echo)
	for host, want := range map[string]string{"a.test": "", "b.test": "host b.test is not served"} {
		words := c.Words(ingressKey("shop", "new"), m{"metadata": m{}, "spec": m{"ingressClassName": "skerry",
			"rules": []any{rule(host, "Exact /new", "later")}, "tls": []any{m{"secretName": "later"}}}})
		if (want == "") != (words == "") || !strings.Contains(words, want) {
			t.Errorf("host %s: %q", host, words)
		}
	}
	c.grant("other", "a.test")
	if words := c.Words(ingressKey("other", "new"), m{"metadata": m{}, "spec": m{"ingressClassName": "skerry",
		"rules": []any{rule("a.test", "Exact /", "web")}}}); !strings.Contains(words, "another space has it") {
		t.Errorf("a host that another space has: %q", words)
	}
	if words := c.Words(ingressKey("shop", "web"), m{"spec": m{"ingressClassName": "nginx"}}); words != "" {
		t.Errorf("another class: %q", words)
	}
}

// A slow space keeps nobody out but itself.
func TestASlowSpace(t *testing.T) {
	release := make(chan struct{})
	c := web(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
	})
	c.app("quick", echo)
	c.grant("other", "b.test")
	c.service("other", "quick")
	c.ingress("other", "quick", m{"rules": []any{rule("b.test", "Prefix /", "quick")}})
	c.eventually("the other one is served", func() bool { code, _ := c.get("http://b.test/"); return code == 200 })
	var give []func()
	for range mostRequestsOfSpace - 10 {
		give = append(give, c.proxy.requests.Take("shop"))
	}
	ended := make(chan int)
	for range 10 {
		go func() { code, _ := c.get("http://a.test/slow"); ended <- code }()
	}
	c.eventually("it has all that it may", func() bool {
		all, spaces := c.proxy.requests.Taken()
		return all == mostRequestsOfSpace && spaces == 1
	})
	if code, _ := c.get("http://a.test/"); code != http.StatusServiceUnavailable {
		t.Errorf("one more of the slow space: %d", code)
	}
	if code, _ := c.get("http://b.test/"); code != http.StatusOK {
		t.Errorf("another space: %d", code)
	}
	close(release)
	for range 10 {
		if code := <-ended; code != http.StatusOK {
			t.Errorf("a slow one: %d", code)
		}
	}
	for _, g := range give {
		g()
	}
	c.eventually("nothing is counted any more", func() bool {
		all, spaces := c.proxy.requests.Taken()
		return all == 0 && spaces == 0
	})
}

// tlsApp is an application that ends TLS itself, for example.com.
func tlsApp(t *testing.T) (address string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "mine ", r.URL.Path) }))
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.Listener.Addr().String(), roots
}
