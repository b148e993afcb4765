package variant

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

// attack is a Customizer of a tenant by which the agents of all its sites should end, or stand still
// for the other spaces.
type attack struct {
	name, group, resource, object string
	rule                          string // of the spec
	most                          int    // how many Customizers have it
}

func repeat(n int, text string) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}

// many is n texts, with the number in place of #.
func many(n int, text string) string {
	var out []string
	for i := range n {
		out = append(out, strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return strings.Join(out, ",")
}

// moves are operations that put a list one level deeper, n times 60 levels.
func moves(n int) string {
	deep := strings.Repeat("/x", 60)
	open, shut := strings.Repeat(`{"x":`, 60), strings.Repeat(`}`, 60)
	return repeat(n, `{"op":"add","path":"/spec/n","value":`+open+`{}`+shut+`},{"op":"move","from":"/spec/a","path":"/spec/n`+
		deep+`/x"},{"op":"move","from":"/spec/n","path":"/spec/a"}`)
}

func attacks() []attack {
	pod := func(containers string) string {
		return `{"metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[` + containers + `]}}}}`
	}
	long := strings.Repeat("x", 60_000)
	boxes := pod(repeat(40_000, `{"name":"a","image":"b"}`))
	withEnv := pod(`{"name":"a","env":[` + repeat(90_000, `{"name":"b"}`) + `]}`)
	hosts := `{"metadata":{"name":"a"},"spec":{"rules":[` + repeat(50_000, `{"host":"a.b"}`) + `]}}`
	list := `{"metadata":{"name":"a"},"spec":{"l":[` + repeat(700_000, `1`) + `],"a":{}}}`
	named := pod(many(50_000, `{"name":"n#"}`))
	crd := func(name, object, rule string) attack { return attack{name, "x.org", "widgets", object, rule, 8} }
	return []attack{
		{"hosts that become long", "networking.k8s.io", "ingresses", hosts, `{"hosts":[{"to":"` + long + `"}]}`, 1},
		{"endings of hosts that become long", "networking.k8s.io", "ingresses", hosts,
			`{"hosts":[{"from":".b","to":"` + long + `"}]}`, 1},
		{"hosts with values", "networking.k8s.io", "ingresses", hosts,
			`{"hosts":[{"to":"` + strings.Repeat(`{{.properties.p}}`, 16) + `"}]}`, 1},
		{"hosts that grow and grow", "networking.k8s.io", "ingresses",
			`{"metadata":{"name":"a"},"spec":{"rules":[` + repeat(1000, `{"host":"a.b"}`) + `]}}`,
			`{"hosts":[` + repeat(64, `{"from":".b","to":"`+strings.Repeat("y", 900)+`.b"}`) + `]}`, 8},
		{"a variable of all containers", "apps", "deployments", boxes, `{"env":[{"name":"e","value":"` + long +
			`","containers":["a"]}]}`, 1},
		{"variables of many variables", "apps", "deployments", withEnv,
			`{"env":[` + many(63, `{"name":"e#","value":"","containers":["z"]}`) + `,{"name":"c","value":""}]}`, 8},
		{"variables that are not there", "apps", "deployments", withEnv,
			`{"env":[` + many(64, `{"name":"e#","value":""}`) + `]},{"env":[` + many(64, `{"name":"f#","value":""}`) + `]}`, 8},
		{"containers by many names", "apps", "deployments", boxes,
			`{"images":[{"tag":"1","containers":[` + many(6000, `"n#"`) + `]}]}`, 8},
		{"tags of all images", "apps", "deployments", boxes, `{"images":[{"tag":"` + strings.Repeat("x", 50_000) + `"}]}`, 1},
		{"registries of all images", "apps", "deployments", boxes,
			`{"images":[{"registry":"` + strings.Repeat("x.", 25_000) + `"}]}`, 1},
		{"elements that are looked for", "apps", "deployments", named,
			`{"merge":{"spec":{"template":{"spec":{"containers":[` + many(3500, `{"name":"z#"}`) + `]}}}}}`, 8},
		crd("the beginning of a list is added to", list, `{"patches":[`+repeat(64, `{"op":"add","path":"/spec/l/0","value":1}`)+`]},`+
			strings.Repeat(`{"patches":[`+repeat(64, `{"op":"add","path":"/spec/l/0","value":1}`)+`]},`, 15)+
			`{"patches":[{"op":"test","path":"/spec/a","value":{}}]}`),
		crd("the beginning of a list is removed", list, strings.TrimSuffix(strings.Repeat(`{"patches":[`+
			repeat(64, `{"op":"remove","path":"/spec/l/0"}`)+`]},`, 16), ",")),
		crd("the beginning of a list is moved", list, strings.TrimSuffix(strings.Repeat(`{"patches":[`+
			repeat(64, `{"op":"move","from":"/spec/l/0","path":"/spec/l/1"}`)+`]},`, 16), ",")),
		crd("removed by pointers", list, strings.TrimSuffix(strings.Repeat(`{"remove":[`+repeat(64, `"/spec/l/0"`)+`]},`, 30), ",")),
		crd("deeper and deeper", `{"metadata":{"name":"a"},"spec":{"a":{}}}`, `{"patches":[`+moves(20)+`]},{"patches":[`+moves(20)+
			`]},{"patches":[`+moves(20)+`]}`),
		crd("copies double", `{"metadata":{"name":"a"},"spec":{"a":"`+strings.Repeat("x", 1000)+`"}}`,
			`{"patches":[`+many(30, `{"op":"copy","from":"/spec","path":"/spec/x#"}`)+`]}`),
		crd("values in every field", `{"metadata":{"name":"a"},"spec":{}}`,
			`{"merge":{"spec":{`+many(1300, `"k#":"{{.properties.p}}{{.properties.p}}"`)+`}}}`),
		crd("values in every field of a patch", `{"metadata":{"name":"a"},"spec":{}}`,
			`{"patches":[{"op":"add","path":"/spec/x","value":{`+many(1300, `"k#":"{{.properties.p}}{{.properties.p}}"`)+`}}]}`),
		crd("large numbers", `{"metadata":{"name":"a"},"spec":{}}`, `{"patches":[{"op":"test","path":"/spec","value":1e999999999}]}`),
		crd("labels without end", `{"metadata":{"name":"a","labels":{}},"spec":{}}`,
			`{"merge":{"metadata":{"labels":{`+many(2000, `"k#":"{{.properties.p}}"`)+`}}}}`),
	}
}

// cpuTime is what this process has used of the CPU.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestCustomizersThatTakeTooMuch(t *testing.T) {
	values := Values{Name: "paris", Properties: map[string]string{"p": strings.Repeat("v", MaxProperty)}}
	tries := 0
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			var all []*Customizer
			for i := range a.most {
				body := fmt.Sprintf(`{"metadata":{"name":"c%d"},"spec":{"objects":[{}],"rules":[%s]}}`, i, a.rule)
				if !json.Valid([]byte(body)) {
					t.Fatalf("%.300s", body)
				}
				c, problems := Parse([]byte(body))
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				all = append(all, c)
			}
			if len(a.object) > store.MaxBodyBytes || !json.Valid([]byte(a.object)) {
				t.Fatalf("%d bytes", len(a.object))
			}
			tries++
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := cpuTime(t)
			out, err := NewSet(all...).Render(Object{Key: store.Key{Space: "s", Group: a.group, Resource: a.resource, Name: "a"},
				Body: []byte(a.object)}, values)
			took := cpuTime(t) - began
			runtime.ReadMemStats(&after)
			made := (after.TotalAlloc - before.TotalAlloc) >> 20
			if took > 10*time.Second || made > 700 || len(out.Body) > store.MaxBodyBytes {
				t.Errorf("it took %v and %d MiB, and made %d bytes: %v", took, made, len(out.Body), err)
			}
			t.Logf("%v, %d MiB: %v", took, made, err)
		})
	}
	t.Logf("%d tries", tries)
}
