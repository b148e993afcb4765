package tunnel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/wire"
)

// status returns one of a few statuses, any field of which may be absent.
func status(r *rand.Rand) ChildStatus {
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	some := func() bool { return r.IntN(3) > 0 }
	amounts := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"cpu", "memory", "pods"} {
			if some() {
				all[name] = pick("1", "2", "350m")
			}
		}
		return all
	}
	var s ChildStatus
	for _, kind := range []string{CenterTrusted, ClockInSync, StoreHealthy} {
		if some() {
			s.Conditions = append(s.Conditions, Condition{Type: kind, Status: pick(True, False), Reason: pick("Known", "Lost")})
		}
	}
	if some() {
		s.Withheld = &Withheld{Deletions: r.IntN(3)}
	}
	if some() {
		s.Subtree = &SubtreeStatus{Troubled: r.IntN(2)}
	}
	if some() {
		s.Cluster = &ClusterFacts{Nodes: 2, Ready: r.IntN(3), Allocated: amounts(), Placed: amounts()}
		if some() {
			s.Cluster.Classes = []ClusterClass{{Kind: "StorageClass", Name: pick("fast", "slow"), Default: some()}}
		}
	}
	return s
}

// What a parent makes of changes is what the child says.
func TestChangesOfAStatus(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	was := ChildStatus{}
	for range 20_000 {
		now := status(r)
		before, _ := fieldsOf(was)
		after, _ := fieldsOf(now)
		patch, err := json.Marshal(difference(before, after))
		if err != nil {
			t.Fatal(err)
		}
		got, err := was.changed(patch)
		if err != nil {
			t.Fatal(err)
		}
		if is, _ := fieldsOf(got); !reflect.DeepEqual(is, after) {
			t.Fatalf("%v and %s made %v, not %v", before, patch, is, after)
		}
		was = now
	}
}

// A change of what pods request costs its own bytes.
func TestAChangeIsSmall(t *testing.T) {
	was := ChildStatus{Cluster: &ClusterFacts{Nodes: 3, Allocated: map[string]string{"cpu": "1", "memory": "1Gi", "pods": "20"},
		Classes: []ClusterClass{{Kind: "StorageClass", Name: "fast"}}}}
	now, facts := was, *was.Cluster
	facts.Allocated = map[string]string{"cpu": "2", "memory": "1Gi", "pods": "21"}
	now.Cluster = &facts
	before, _ := fieldsOf(was)
	after, _ := fieldsOf(now)
	patch, _ := json.Marshal(difference(before, after))
	if want := `{"cluster":{"allocated":{"cpu":"2","pods":"21"}}}`; string(patch) != want {
		t.Errorf("got %s, want %s", patch, want)
	}
	if again := difference(after, after); len(again) > 0 {
		t.Errorf("nothing has changed: %v", again)
	}
}

// heardOf keeps the last status that a session has told.
type heardOf struct {
	Listener
	last ChildStatus
}

func (h *heardOf) Status(s ChildStatus, _ int) { h.last = s }

// said is a stream that keeps what is written to it, to be read.
type said struct{ bytes.Buffer }

func (*said) Close() error                { return nil }
func (*said) Cancel()                     {}
func (*said) SetDeadline(time.Time) error { return nil }

// Where a parent drops a part of a status, a change of it does not bring back what has changed alone.
func TestAChangeOfWhatIsDropped(t *testing.T) {
	of := func(cpu string) ChildStatus {
		allocated := map[string]string{"cpu": cpu}
		for i := range maxResources {
			allocated[fmt.Sprintf("example.com/device-%d", i)] = "1"
		}
		return ChildStatus{Cluster: &ClusterFacts{Nodes: 1, Allocated: allocated}}
	}
	control := newControl(&said{}, nil)
	c, heard := &child{control: control, saysChanges: true}, &heardOf{}
	p := &parent{ParentConfig: ParentConfig{Listener: heard}}
	var sent map[string]any
	for i, status := range []ChildStatus{of("1"), of("2"), {Cluster: &ClusterFacts{Nodes: 2}}} {
		var err error
		if sent, err = c.sendStatus(sent, status); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if in := control.stream.(*said); in.Len() > 0 {
				t.Errorf("%d bytes tell a change of what is dropped", in.Len())
			}
			continue
		}
		kind, payload, err := control.receive()
		if err == nil {
			err = p.statusSaid(kind, payload)
		}
		if want, _ := status.bounded(); err != nil || !reflect.DeepEqual(heard.last, want) {
			t.Errorf("heard %+v, %v, want %+v", heard.last, err, want)
		}
	}
}

// Whatever comes as a change, what is kept of it is bounded.
func FuzzChange(f *testing.F) {
	f.Add([]byte(`{"cluster":{"allocated":{"cpu":"2"},"classes":null},"offer":{"versions":["v1"]}}`))
	f.Add([]byte(`{"conditions":[{"type":"CenterTrusted","status":"Maybe"}],"withheld":null}`))
	f.Add([]byte(`{"cluster":{"nodes":1e400}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		heard := &heardOf{}
		p := &parent{ParentConfig: ParentConfig{Listener: heard}}
		for range 2 {
			if err := p.statusSaid(typeChanges, payload); err != nil {
				if !errors.Is(err, ErrProtocol) {
					t.Fatal(err)
				}
				return
			}
			if again, dropped := heard.last.bounded(); dropped > 0 || !reflect.DeepEqual(again, heard.last) {
				t.Errorf("%+v is not bounded", heard.last)
			}
			if text, err := json.Marshal(p.said); err != nil || len(text) > wire.MaxControl {
				t.Errorf("%d bytes are kept, %v", len(text), err)
			}
		}
	})
}
