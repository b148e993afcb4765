package streams

import (
	"net/netip"
	"strings"
	"testing"
)

// A Pod lets in whom its policies let in, as the network of a cluster would: policies add up, and one that selects the
// Pod keeps out whom none lets in.
func TestPoliciesRefuse(t *testing.T) {
	pod := callee{labels: map[string]string{"app": "db"}, port: 5432, names: []string{"sql"}}
	api := &peer{namespace: "shop", namespaceLabels: map[string]string{"team": "a", "kubernetes.io/metadata.name": "shop"},
		labels: map[string]string{"app": "api"}, address: netip.MustParseAddr("10.42.0.5")}
	other := &peer{namespace: "web", namespaceLabels: map[string]string{"kubernetes.io/metadata.name": "web"},
		labels: map[string]string{"app": "api"}, address: netip.MustParseAddr("10.42.1.5")}
	outside := &peer{address: netip.MustParseAddr("203.0.113.7")}
	ofSite := &peer{namespace: "shop", elsewhere: true,
		namespaceLabels: map[string]string{"kubernetes.io/metadata.name": "shop"}, labels: map[string]string{"app": "api"}, address: netip.MustParseAddr("10.42.0.9")}
	from := func(peers string) string { return `{"podSelector":{},"ingress":[{"from":[` + peers + `]}]}` }
	ports := func(ports string) string { return `{"podSelector":{},"ingress":[{"ports":[` + ports + `]}]}` }
	for name, c := range map[string]struct {
		policies []string
		from     *peer
		by       string
	}{
		"none":                           {nil, api, ""},
		"one of another Pod":             {[]string{`{"podSelector":{"matchLabels":{"app":"web"}}}`}, api, ""},
		"one for what leaves":            {[]string{`{"podSelector":{},"policyTypes":["Egress"]}`}, api, ""},
		"nobody":                         {[]string{`{"podSelector":{},"policyTypes":["Ingress"]}`}, api, "p0"},
		"nobody, without a type":         {[]string{`{"podSelector":{}}`}, api, "p0"},
		"everybody":                      {[]string{`{"podSelector":{},"ingress":[{}]}`}, api, ""},
		"everybody, of whom one is told": {[]string{`{"podSelector":{},"ingress":[{}]}`}, nil, ""},
		"they add up": {[]string{`{"podSelector":{}}`, `{"podSelector":{"matchLabels":{"app":"db"}},"ingress":[{}]}`},
			api, ""},
		"all that keep it out are named": {[]string{`{"podSelector":{}}`, from(`{"podSelector":{"matchLabels":{"app":"x"}}}`)},
			api, "p0 p1"},
		"its own namespace":                {[]string{from(`{"podSelector":{}}`)}, api, ""},
		"another namespace":                {[]string{from(`{"podSelector":{}}`)}, other, "p0"},
		"any namespace":                    {[]string{from(`{"namespaceSelector":{}}`)}, other, ""},
		"a namespace by its name":          {[]string{from(`{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"web"}}}`)}, other, ""},
		"a namespace and a Pod":            {[]string{from(`{"namespaceSelector":{"matchLabels":{"team":"a"}},"podSelector":{"matchLabels":{"app":"api"}}}`)}, api, ""},
		"a namespace, and another Pod":     {[]string{from(`{"namespaceSelector":{"matchLabels":{"team":"a"}},"podSelector":{"matchLabels":{"app":"x"}}}`)}, api, "p0"},
		"another namespace, and the Pod":   {[]string{from(`{"namespaceSelector":{"matchLabels":{"team":"a"}},"podSelector":{"matchLabels":{"app":"api"}}}`)}, other, "p0"},
		"one of two":                       {[]string{from(`{"podSelector":{"matchLabels":{"app":"x"}}},{"podSelector":{"matchLabels":{"app":"api"}}}`)}, api, ""},
		"nothing is known of it":           {[]string{from(`{"namespaceSelector":{}}`)}, nil, "p0"},
		"nothing is known of it, by block": {[]string{from(`{"ipBlock":{"cidr":"0.0.0.0/0"}}`)}, nil, "p0"},
		"a label that it has not":          {[]string{from(`{"podSelector":{"matchExpressions":[{"key":"x","operator":"DoesNotExist"}]}}`)}, api, ""},
		"a block":                          {[]string{from(`{"ipBlock":{"cidr":"10.42.0.0/16"}}`)}, api, ""},
		"another block":                    {[]string{from(`{"ipBlock":{"cidr":"10.43.0.0/16"}}`)}, api, "p0"},
		"a block but for it":               {[]string{from(`{"ipBlock":{"cidr":"10.42.0.0/16","except":["10.42.0.0/24"]}}`)}, api, "p0"},
		"a block that cannot be read":      {[]string{from(`{"ipBlock":{"cidr":"10.42.0.0/16","except":["x"]}}`)}, api, "p0"},
		"a selector that cannot be read":   {[]string{from(`{"podSelector":{"matchExpressions":[{"key":"x","operator":"?"}]}}`)}, api, "p0"},
		"from outside":                     {[]string{from(`{"namespaceSelector":{}},{"podSelector":{}}`)}, outside, "p0"},
		"from outside, by block":           {[]string{from(`{"ipBlock":{"cidr":"0.0.0.0/0"}}`)}, outside, ""},
		"a namespace of its site":          {[]string{from(`{"podSelector":{}}`)}, ofSite, "p0"},
		"any namespace of its site":        {[]string{from(`{"namespaceSelector":{},"podSelector":{"matchLabels":{"app":"api"}}}`)}, ofSite, ""},
		"its port":                         {[]string{ports(`{"port":5432}`)}, api, ""},
		"its port by name":                 {[]string{ports(`{"port":"sql"}`)}, api, ""},
		"another port":                     {[]string{ports(`{"port":80}`)}, api, "p0"},
		"another name":                     {[]string{ports(`{"port":"http"}`)}, api, "p0"},
		"its port of UDP":                  {[]string{ports(`{"port":5432,"protocol":"UDP"}`)}, api, "p0"},
		"any port of TCP":                  {[]string{ports(`{"protocol":"TCP"}`)}, api, ""},
		"a range of ports":                 {[]string{ports(`{"port":5000,"endPort":6000}`)}, api, ""},
		"a range below":                    {[]string{ports(`{"port":5000,"endPort":5431}`)}, api, "p0"},
		"a range above":                    {[]string{ports(`{"port":5433,"endPort":6000}`)}, api, "p0"},
		"its port, and another caller":     {[]string{`{"podSelector":{},"ingress":[{"ports":[{"port":5432}],"from":[{"podSelector":{"matchLabels":{"app":"x"}}}]}]}`}, api, "p0"},
	} {
		t.Run(name, func(t *testing.T) {
			all := policies{namespace: "shop"}
			for i, spec := range c.policies {
				if err := all.add("p"+string(rune('0'+i)), []byte(spec)); err != nil {
					t.Fatal(err)
				}
			}
			if by := strings.Join(all.refuse(pod, c.from), " "); by != c.by {
				t.Errorf("refused by %q, want %q", by, c.by)
			}
		})
	}
}

// A policy that cannot be read is told: it may be there to keep callers out.
func TestAPolicyThatCannotBeRead(t *testing.T) {
	for _, spec := range []string{``, `{"podSelector":[]}`,
		`{"podSelector":{"matchExpressions":[{"key":"x","operator":"?"}]}}`} {
		p := policies{namespace: "shop"}
		if p.add("p", []byte(spec)) == nil {
			t.Errorf("%q is read", spec)
		}
	}
}
