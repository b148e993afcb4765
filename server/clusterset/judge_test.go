package clusterset

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/fields"
)

// service is a Service with a spec.
func service(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte("metadata: {uid: u, annotations: {}}\nspec: "+text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const web = "{selector: {app: web}, ports: [{name: http, port: 80}]}"

func TestWhatCanBeExported(t *testing.T) {
	for name, c := range map[string]struct {
		spec, own, reach string
		reason, says     string
	}{
		"plain":                   {spec: web},
		"nothing":                 {reason: "NoService", says: "no Service of this name"},
		"a name elsewhere":        {spec: "{type: ExternalName, externalName: a.example}", reason: "InvalidServiceType"},
		"headless":                {spec: "{clusterIP: None, selector: {a: b}, ports: [{port: 1}]}", reason: "InvalidServiceType"},
		"without selector":        {spec: "{ports: [{port: 80}]}", reason: "InvalidServiceType", says: "no selector"},
		"UDP alone":               {spec: "{selector: {a: b}, ports: [{port: 53, protocol: UDP}]}", reason: "InvalidServiceType"},
		"its Namespace stays":     {spec: web, reach: "Target", reason: "ReachTarget", says: "skerry.dev/reach"},
		"it stays":                {spec: web, own: "Target", reach: "Space", reason: "ReachTarget"},
		"its own word goes first": {spec: web, own: "Space", reach: "Target"},
	} {
		o := offer{space: "shop", reach: c.reach}
		if c.spec != "" {
			o.service = service(t, c.spec)
			if c.own != "" {
				o.service["metadata"].(map[string]any)["annotations"].(map[string]any)["skerry.dev/reach"] = c.own
			}
		}
		is, verdicts := judge([]offer{o})
		v := verdicts["shop"]
		if v.invalid != c.reason || !strings.Contains(v.why, c.says) || (is != nil) != (c.reason == "") {
			t.Errorf("%s: %q, %q, %v", name, v.invalid, v.why, is)
		}
	}
	over := offer{space: "shop", service: service(t, web), over: true}
	if is, v := judge([]offer{over}); is != nil || v["shop"].invalid != "TooManyExports" {
		t.Errorf("more than a space may export: %v", v)
	}
}

// Ports are those of all exports. Where two contradict each other the older one counts, whatever its space is called.
func TestTheOldestExportCounts(t *testing.T) {
	at := func(space, since, ports string) offer {
		return offer{space: space, since: since, service: service(t, "{selector: {a: b}, ports: ["+ports+"]}")}
	}
	for name, c := range map[string]struct {
		all       []offer
		ports, by string
		conflicts string
	}{
		"the same":             {[]offer{at("b", "1", "{port: 80}"), at("a", "2", "{port: 80}")}, "80", "b a", ""},
		"more ports":           {[]offer{at("a", "1", "{name: x, port: 80}"), at("b", "2", "{name: z, port: 81}")}, "x:80 z:81", "a b", ""},
		"a name for each":      {[]offer{at("a", "1", "{port: 80}"), at("b", "2", "{port: 81}")}, "port-80:80 port-81:81", "a b", ""},
		"another number":       {[]offer{at("a", "2", "{name: x, port: 81}"), at("b", "1", "{name: x, port: 80}")}, "x:80", "b a", "a"},
		"another name":         {[]offer{at("a", "1", "{name: x, port: 80}"), at("b", "2", "{name: z, port: 80}")}, "x:80", "a b", "b"},
		"another protocol":     {[]offer{at("a", "1", "{port: 80, appProtocol: http}"), at("b", "2", "{port: 80}")}, "80", "a b", "b"},
		"of one age":           {[]offer{at("b", "1", "{name: z, port: 80}"), at("a", "1", "{name: x, port: 80}")}, "x:80", "a b", "b"},
		"one that is no offer": {[]offer{{space: "a", since: "1"}, at("b", "2", "{port: 80}")}, "80", "b", ""},
	} {
		is, verdicts := judge(c.all)
		var ports, by, conflicts []string
		for _, p := range is.ports {
			ports = append(ports, strings.TrimPrefix(fmt.Sprintf("%s:%d", p.Name, p.Number), ":"))
		}
		for _, o := range is.by {
			by = append(by, o.space)
		}
		for _, space := range []string{"a", "b"} {
			if v := verdicts[space]; len(v.conflicts) > 0 {
				conflicts = append(conflicts, space)
			}
		}
		if got := []string{strings.Join(ports, " "), strings.Join(by, " "), strings.Join(conflicts, " ")}; !reflect.DeepEqual(got,
			[]string{c.ports, c.by, c.conflicts}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPortsThatDoNotGoBetweenSitesAreTold(t *testing.T) {
	_, verdicts := judge([]offer{{space: "a", service: service(t,
		"{selector: {a: b}, ports: [{name: x, port: 53}, {name: z, port: 53, protocol: UDP}]}")}})
	valid := verdicts["a"].conditions([]string{"b", "a"})
	if valid[0].message != "the Service can be exported; its ports 53/UDP are not: between sites there is TCP alone" ||
		valid[1].message != "imported by the spaces a, b" {
		t.Errorf("conditions: %+v", valid)
	}
}

// The labels and annotations of an import are those of the oldest export, and of no other one.
func TestTheOldestExportHasTheWords(t *testing.T) {
	says := func(space, since, spec string) offer {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(spec), &o); err != nil {
			t.Fatal(err)
		}
		is := offer{space: space, since: since, service: service(t, web)}
		is.words, is.unsaid = exportedBy(o)
		return is
	}
	is, verdicts := judge([]offer{
		says("c", "3", "{exportedLabels: {team: a}, exportedAnnotations: {note: other}}"),
		says("a", "1", "{exportedLabels: {team: a, app.kubernetes.io/managed-by: me, skerry.dev/target: x, "+
			"a.skerry.dev/b: c, bad value: x, tier: 'b c', multicluster.kubernetes.io/service-name: x}, "+
			"exportedAnnotations: {Note: one, skerry.dev/reach: Space}}"),
		says("b", "2", "{}"),
		says("d", "4", "{exportedLabels: {team: a}, exportedAnnotations: {Note: one}}")})
	want := words{map[string]string{"team": "a"}, map[string]string{"Note": "one"}}
	if !reflect.DeepEqual(is.words, want) {
		t.Errorf("words: %v", is.words)
	}
	for space, want := range map[string]string{
		"a": "True Valid, False NoConflicts",
		"b": "True Valid, True LabelsConflict,AnnotationsConflict",
		"c": "True Valid, True AnnotationsConflict",
		"d": "True Valid, False NoConflicts",
	} {
		all := conditions(nil, verdicts[space].conditions(nil)...)
		var got []string
		for _, i := range []int{0, 2} {
			c := all[i].(map[string]any)
			got = append(got, fmt.Sprint(c["status"], " ", c["reason"]))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, not %q", space, got, want)
		}
	}
	for _, key := range []string{"managed-by", "skerry.dev/target", "a.skerry.dev/b", "bad value", "tier",
		"skerry.dev/reach", "multicluster.kubernetes.io/service-name"} {
		if valid := verdicts["a"].conditions(nil)[0]; !strings.Contains(valid.message, key) {
			t.Errorf("nobody is told of %s: %s", key, valid.message)
		}
	}
	long := says("a", "1", "{exportedAnnotations: {a: x, b: "+strings.Repeat("x", mostWords)+"}}")
	if len(long.words.Annotations) != 1 || len(long.unsaid) != 1 {
		t.Errorf("%d bytes are taken", mostWords)
	}
}

// The session affinity of an import is that of the oldest export.
func TestTheOldestExportSaysWhetherCallersComeBack(t *testing.T) {
	at := func(space, since, affinity string) offer {
		return offer{space: space, since: since, service: service(t, "{selector: {a: b}, ports: [{port: 80}]"+affinity+"}")}
	}
	named := name{"app", "web"}
	const client = ", sessionAffinity: ClientIP"
	const minute = client + ", sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}"
	for name, c := range map[string]struct {
		all      []offer
		spec     string
		conflict string
	}{
		"none":       {[]offer{at("a", "1", ""), at("b", "2", ", sessionAffinity: None")}, "None <nil>", "NoConflicts"},
		"the usual":  {[]offer{at("a", "1", client), at("b", "2", client)}, "ClientIP 10800", "NoConflicts"},
		"a minute":   {[]offer{at("a", "1", minute), at("b", "2", minute)}, "ClientIP 60", "NoConflicts"},
		"not here":   {[]offer{at("a", "1", minute), at("b", "2", "")}, "ClientIP 60", "SessionAffinityConflict"},
		"here alone": {[]offer{at("a", "1", ""), at("b", "2", client)}, "None <nil>", "SessionAffinityConflict"},
		"for longer": {[]offer{at("a", "1", minute), at("b", "2", client)}, "ClientIP 60", "SessionAffinityConfigConflict"},
		"for shorter": {[]offer{at("b", "2", minute), at("a", "1", client)}, "ClientIP 10800",
			"SessionAffinityConfigConflict"},
	} {
		is, verdicts := judge(c.all)
		for kind, spec := range map[string]map[string]any{"import": is.spec(),
			"Service": fields.Map(is.service(named, "u"), "spec")} {
			config := fields.Map(spec, "sessionAffinityConfig", "clientIP")
			got := fmt.Sprint(spec["sessionAffinity"], " ", config["timeoutSeconds"])
			if got != c.spec {
				t.Errorf("%s: %s of the %s, not %s", name, got, kind, c.spec)
			}
		}
		if got := verdicts["b"].conditions(nil)[2].reason; got != c.conflict {
			t.Errorf("%s: %s, not %s", name, got, c.conflict)
		}
	}
}

// Labels and annotations of an export are bounded together: each space of its set has them, and their keys once more.
func TestWhatAnExportSaysIsBounded(t *testing.T) {
	labels, annotations := map[string]any{}, map[string]any{"note": strings.Repeat("x", mostWords/2)}
	for n := range mostWords / 64 {
		labels[fmt.Sprintf("label-%04d", n)] = strings.Repeat("x", 63)
	}
	is, leftOut := exportedBy(map[string]any{"exportedLabels": labels, "exportedAnnotations": annotations})
	size := 0
	for _, all := range []map[string]string{is.Labels, is.Annotations} {
		for key, value := range all {
			size += len(key) + len(value)
		}
	}
	if size > mostWords || len(leftOut)+len(is.Labels)+len(is.Annotations) != len(labels)+1 {
		t.Errorf("%d bytes are taken, %d words left out", size, len(leftOut))
	}
}

// A space that exports a name of another one's adds a few ports to the import at most.
func TestAnImportHasAFewPorts(t *testing.T) {
	var many []string
	for n := range 1000 {
		many = append(many, fmt.Sprintf("{name: p%d, port: %d}", n, 1000+n))
	}
	is, verdicts := judge([]offer{
		{space: "shop", since: "1", service: service(t, "{selector: {a: b}, ports: [{name: web, port: 80}]}")},
		{space: "much", since: "2", service: service(t, "{selector: {a: b}, ports: ["+strings.Join(many, ", ")+"]}")}})
	if len(is.ports) != mostPorts || is.ports[0].Name != "web" {
		t.Errorf("%d ports, the first is %v", len(is.ports), is.ports[0])
	}
	if c := verdicts["much"].conditions(nil)[2]; !c.is || c.reason != reasonPortConflict || len(c.message) > 200 {
		t.Errorf("%+v", c)
	}
}
