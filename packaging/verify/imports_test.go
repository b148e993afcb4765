package verify

import (
	"slices"
	"strings"
	"testing"
)

// layers says what each top-level folder may import of the project: store <- tunnel <- {agent,
// server} <- {packaging, main.go}.
var layers = map[string][]string{
	"store":     nil,
	"tunnel":    {"store"},
	"agent":     {"store", "tunnel"},
	"server":    {"store", "tunnel"},
	"packaging": {"agent", "server", "store", "tunnel"},
	"":          {"agent", "server", "store", "tunnel", "packaging"},
}

// leaves are packages that a sibling may import: the pure ones of the server (types, or functions
// without I/O) and its queues, and those that the agent's halves stand on: its waits, the client of the
// target, the record of what was applied there, the site's policy and its gate, and a target for tests; also podexec, by which the
// center and its admin's commands reach into Pods. Leaves import only leaves.
var leaves = []string{
	"server/api/v1alpha1",
	"server/fields",
	"server/quantity",
	"server/celbound",
	"server/binding",
	"server/rollout",
	"server/placement",
	"server/scheduler",
	"server/catalog",
	"server/desired",
	"server/customize",
	"server/queue",
	"server/spaceapi",
	"server/volumes",
	"server/podexec",
	"server/spaceapi/spaceapitest",
	"agent/target",
	"agent/targettest",
	"agent/inventory",
	"agent/policy",
	"agent/site",
	"agent/variants",
	"agent/backoff",
	"packaging/systemd",
	"packaging/reference",
}

// concerns says which of its siblings each package of server/apiserver may import; one that is not
// named may import none. What wires them is server/apiserver itself. A package may only name those
// above it, so that the order of this list is that of the layers.
var concerns = []concern{
	{"registrykey", nil},
	{"outbound", nil},
	{"backlog", nil},
	{"fair", nil},
	{"encryption", nil},
	{"request", []string{"registrykey"}},
	{"response", nil},
	{"amounts", []string{"response"}},
	{"browser", []string{"response"}},
	{"metadata", []string{"request"}},
	{"follow", nil},
	{"inventory", []string{"request", "response"}},
	{"borrow", []string{"follow", "metadata", "registrykey", "request"}},
	{"webhook", []string{"outbound"}},
	{"share", []string{"backlog", "fair", "request", "response"}},
	{"storage", []string{"backlog", "encryption", "follow", "metadata", "registrykey", "request", "share", "borrow"}},
	{"quota", []string{"follow", "metadata", "registrykey", "request", "response", "storage"}},
	{"authn", []string{"request", "response", "storage"}},
	{"authz", []string{"storage"}},
	{"kinds", []string{"metadata", "request"}},
	{"discovery", []string{"inventory", "request", "response"}},
	{"backends", []string{"request", "storage", "webhook"}},
	{"policy", []string{"outbound", "request", "webhook"}},
	{"admission", []string{"metadata", "registrykey", "request", "storage"}},
	{
		"crd",
		[]string{
			"borrow",
			"discovery",
			"follow",
			"inventory",
			"kinds",
			"metadata",
			"outbound",
			"registrykey",
			"request",
			"response",
			"storage",
			"webhook",
		},
	},
	{"wellknown", []string{"metadata", "request"}},
	{"offers", []string{"metadata", "request", "response", "wellknown"}},
	{"audit", []string{"authn", "request"}},
	{"pods", []string{"audit", "metadata", "request", "response"}},
	{"proxy", []string{"audit", "request", "response", "webhook"}},
	{"view", []string{"audit", "request", "response"}},
	{"top", []string{"audit", "request", "response"}},
	{"events", []string{"audit", "request"}},
	{"controllers", []string{"authz", "follow", "registrykey", "storage"}},
}

// concern is a package of server/apiserver, and its siblings that it may import.
type concern struct {
	name string
	may  []string
}

const apiserver = "server/apiserver"

// banned are modules that a folder must not reach, directly or through others, and why.
var banned = []ban{
	{"store", "k8s.io/", "store is vocabulary and files; only store/kine serves Kubernetes' storage"},
	{"tunnel", "k8s.io/", "the tunnel moves keys and bytes, it knows no kinds"},
	{"agent", "k8s.io/apiserver", "an agent must fit a small board"},
	{"agent", "k8s.io/kubernetes", "an agent must fit a small board"},
	{"agent", "k8s.io/client-go/kubernetes", "generated clientsets cost megabytes; use the dynamic client"},
	{"server/placement", "k8s.io/client-go", "placement is pure"},
	{"server/binding", "k8s.io/", "binding is pure, and knows no kinds"},
	{"server/scheduler", "k8s.io/client-go", "scheduler keeps records; who asks it has the client"},
	{"server/scheduler", "skerry.dev/skerry/server/placement", "scheduler stores what is decided, and decides nothing"},
	{"server/catalog", "k8s.io/client-go/kubernetes", "catalog knows, and asks nobody"},
	{"server/catalog", "k8s.io/client-go/dynamic", "catalog knows, and asks nobody"},
	{"server/catalog", "skerry.dev/skerry/server/spaceapi", "catalog knows, and asks nobody"},
	{"server/catalog", "skerry.dev/skerry/server/desired", "catalog knows facts; desired is made of them"},
	{"server/scheduler", "skerry.dev/skerry/server/catalog", "scheduler stores what is decided, and knows nothing else"},
	{"server/desired", "skerry.dev/skerry/server/delivery", "desired follows what is decided, and decides nothing"},
	{"server/summary", "skerry.dev/skerry/server/desired", "who shows reports asks where objects are, and makes no feeds"},
	{"server/summary", "skerry.dev/skerry/server/scheduler", "who shows reports reads no records"},
	{"server/progress", "skerry.dev/skerry/server/desired", "who shows reports asks where objects are, and makes no feeds"},
	{"server/collect", "skerry.dev/skerry/server/desired", "who shows reports asks where objects are, and makes no feeds"},
	{"server/reports", "skerry.dev/skerry/server/catalog", "reports keeps what is said, whatever it is about"},
	{"server/sessions", "skerry.dev/skerry/server/desired", "sessions send feeds, and do not know what they are made of"},
	{"server/customize", "k8s.io/client-go", "customize is pure"},
	{"server/celbound", "k8s.io/client-go", "celbound is pure"},
	{"server/desired", "k8s.io/kubernetes", "only server/apiserver and server/space link Kubernetes' own server"},
	{"server/delivery", "k8s.io/kubernetes", "only server/apiserver and server/space link Kubernetes' own server"},
	{"server/summary", "k8s.io/kubernetes", "only server/apiserver and server/space link Kubernetes' own server"},
	{"server/sessions", "k8s.io/kubernetes", "only server/apiserver and server/space link Kubernetes' own server"},
}

// notImported are modules that a folder must not import itself.
var notImported = []ban{
	{
		"agent",
		"k8s.io/api/",
		"the agent handles every kind alike, without types; agent/policy alone needs those of Pods, for upstream's checks",
	},
}

type ban struct{ folder, prefix, why string }

// concerns reports whether a package lies in the folder of a ban.
func (b ban) concerns(from string) bool {
	return (from == b.folder || strings.HasPrefix(from, b.folder+"/")) && !slices.Contains(exempt, from)
}

// exempt are packages that a ban of their folder does not concern.
var exempt = []string{"store/kine", "agent/policy"}

func TestImportRule(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		from := p.path()
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			to, ours := strings.CutPrefix(imp, module+"/")
			if !ours || to == from {
				continue
			}
			if why := forbidden(from, to); why != "" {
				t.Errorf("%s imports %s: %s", orMain(from), to, why)
			}
		}
	})
}

func forbidden(from, to string) string {
	fromTop, toTop := top(from), top(to)
	if fromTop != toTop {
		if !slices.Contains(layers[fromTop], toTop) {
			return "the layers are store <- tunnel <- {agent, server} <- {packaging, main.go}"
		}
		return ""
	}
	if a, in := strings.CutPrefix(from, apiserver+"/"); in {
		if b, in := strings.CutPrefix(to, apiserver+"/"); in {
			return forbiddenConcern(a, b)
		}
	}
	wires := from == fromTop || strings.HasPrefix(to, from+"/") || to == toTop
	if wires || fromTop == "store" || fromTop == "tunnel" || slices.Contains(leaves, to) {
		return ""
	}
	return "siblings do not import each other; " + fromTop + ".go wires them"
}

func forbiddenConcern(from, to string) string {
	i := slices.IndexFunc(concerns, func(c concern) bool { return c.name == from })
	if i >= 0 && slices.Contains(concerns[i].may, to) {
		return ""
	}
	return "the concerns of " + apiserver + " import each other only as the list of concerns says"
}

// TestConcernsAreLayers: no concern names one that comes after it, so there are no cycles, and none
// that does not exist.
func TestConcernsAreLayers(t *testing.T) {
	for i, c := range concerns {
		for _, may := range c.may {
			if !slices.ContainsFunc(concerns[:i], func(above concern) bool { return above.name == may }) {
				t.Errorf("%s may import %s, which does not stand above it", c.name, may)
			}
		}
	}
	exists := map[string]bool{}
	eachPackage(t, func(_ *testing.T, p pkg) { exists[p.path()] = true })
	for _, c := range concerns {
		if !exists[apiserver+"/"+c.name] {
			t.Errorf("there is no package %s/%s", apiserver, c.name)
		}
	}
}

func TestForbiddenCanFail(t *testing.T) {
	for _, c := range [][2]string{{"store", "tunnel"}, {"agent/apply", "server/sessions"},
		{"server/sessions", "server/summary"}, {"tunnel/quic", "agent"},
		{apiserver + "/registrykey", apiserver + "/request"}, {apiserver + "/request", "server/summary"},
		{"server/summary", apiserver + "/request"}} {
		if forbidden(c[0], c[1]) == "" {
			t.Errorf("%s may import %s", c[0], c[1])
		}
	}
}

func TestBannedDependencies(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		from := p.path()
		for _, rule := range []struct {
			bans    []ban
			reached []string
		}{{banned, p.Deps}, {notImported, p.Imports}} {
			for _, b := range rule.bans {
				i := slices.IndexFunc(rule.reached, func(dep string) bool {
					return dep == b.prefix || strings.HasPrefix(dep, strings.TrimSuffix(b.prefix, "/")+"/")
				})
				if b.concerns(from) && i >= 0 {
					t.Errorf("%s reaches %s: %s", from, rule.reached[i], b.why)
				}
			}
		}
	})
}

func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func orMain(path string) string {
	if path == "" {
		return "main"
	}
	return path
}
