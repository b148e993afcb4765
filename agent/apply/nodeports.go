package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
)

// portTries is how many ports are tried until one is free that nobody wants.
const portTries = 16

// nodePorts are ports of the nodes of a target. Each belongs to one Service there.
type nodePorts map[nodePort]bool

type nodePort struct {
	protocol string
	number   int64
}

// portTaken reports whether a target refuses a Service a port of its nodes, as another Service has it.
func portTaken(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "provided port is already allocated")
}

// portOutside reports whether a port is none that Services of this target may have.
func portOutside(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "not in the valid range")
}

// nodePortsOf are those that the spec of a Service names.
func nodePortsOf(spec []byte) nodePorts {
	var s struct {
		Ports []struct {
			Protocol string
			NodePort int64
		}
	}
	out := nodePorts{}
	if len(spec) == 0 || json.Unmarshal(spec, &s) != nil {
		return out
	}
	for _, p := range s.Ports {
		if p.NodePort != 0 {
			out[nodePort{cmp.Or(p.Protocol, "TCP"), p.NodePort}] = true
		}
	}
	return out
}

// portUser is a Service of the target as it is to be there.
type portUser struct {
	*task
	wants nodePorts
}

// exchangePorts is called when the update of a Service was refused. Services may each want the port that the next
// one has: one by one each is refused, for ever. When this one is in such a ring it gives up the ports that it is to
// lose, for ones that nobody wants, so that the others get theirs and it gets its own at the next try. It returns
// the refusal when there is no ring: what runs keeps its ports.
func exchangePorts(ctx context.Context, a *Applier, t *task, refused error) error {
	if !t.Key.IsService() || a.Relay || !portTaken(refused) {
		return refused
	}
	own := &portUser{t, nodePortsOf(t.head.Spec)}
	has, err := portsThere(ctx, a, own)
	if err != nil || !gives(own, has) {
		return errors.Join(refused, err)
	}
	users := portUsers(a, own)
	waiting, ring, err := inRing(ctx, a, own, has, users)
	if err != nil || !ring {
		return errors.Join(refused, err)
	}
	if err := giveUpPorts(ctx, a, t, has, users); err != nil {
		return err
	}
	a.queue.hurry(waiting)
	return &changedError{fmt.Errorf("the Service has given up ports that others of this target wait for: %w", refused)}
}

// portsThere are the ports that a Service has on the target, none where it is not there any more.
func portsThere(ctx context.Context, a *Applier, u *portUser) (nodePorts, error) {
	live, err := a.find(ctx, u.client, u.resource, u.at, false)
	if err != nil || live == nil || live.Metadata.UID != u.record.UID {
		return nil, err
	}
	return nodePortsOf(live.Spec), nil
}

// gives reports whether a Service is to lose some of the ports that it has.
func gives(u *portUser, has nodePorts) bool {
	for port := range has {
		if !u.wants[port] {
			return true
		}
	}
	return false
}

// portUsers are the Services of the target that want ports of its nodes, with the one that was refused.
func portUsers(a *Applier, own *portUser) map[store.Key]*portUser {
	var keys []store.Key
	a.Inventory.Any(func(k store.Key, r inventory.Record) bool {
		if k.IsService() && r.UID != "" && k != own.Key {
			keys = append(keys, k)
		}
		return false
	})
	out := map[store.Key]*portUser{own.Key: own}
	for _, k := range keys {
		if u := desiredService(a, k); u != nil {
			out[k] = u
		}
	}
	return out
}

// desiredService is a Service that the target has, as it is to be there; nil when it is to go, or wants no port.
func desiredService(a *Applier, k store.Key) *portUser {
	e, found, err := a.Desired.Get(k)
	r, known := a.Inventory.Get(k)
	if err != nil || !found || e.Tombstone || !known {
		return nil
	}
	v, err := a.vary(e, r)
	if err != nil || !bytes.Contains(v.Body, []byte(`"nodePort"`)) {
		return nil
	}
	e.Body = v.Body
	t := &task{Entry: e, record: r}
	if t.decode() != nil || a.locate(t) != nil {
		return nil
	}
	t.client, err = a.Clients.For(k.Space)
	if err != nil {
		return nil
	}
	return &portUser{t, nodePortsOf(t.head.Spec)}
}

// inRing reports whether a Service, which has some ports, waits for a port of one that waits, maybe by others, for a
// port that this one is to lose, and who waits for such ports of it.
func inRing(
	ctx context.Context, a *Applier, own *portUser, has nodePorts, users map[store.Key]*portUser,
) (waiting []store.Key, ring bool, err error) {
	waiting = whoWaits(own, has, users)
	seen := map[store.Key]bool{}
	for next := waiting; len(next) > 0; next = next[1:] {
		k := next[0]
		if ring = ring || k == own.Key; seen[k] || k == own.Key {
			continue
		}
		seen[k] = true
		has, err := portsThere(ctx, a, users[k])
		if err != nil {
			return nil, false, err
		}
		next = append(next, whoWaits(users[k], has, users)...)
	}
	return waiting, ring, nil
}

// whoWaits lists the Services that want a port that one has and is to lose.
func whoWaits(u *portUser, has nodePorts, users map[store.Key]*portUser) (waiting []store.Key) {
	for port := range has {
		if u.wants[port] {
			continue
		}
		for k, other := range users {
			if other.wants[port] {
				waiting = append(waiting, k)
			}
		}
	}
	return waiting
}

// giveUpPorts applies a Service with other ports in the place of those that it wants and has not.
func giveUpPorts(ctx context.Context, a *Applier, t *task, has nodePorts, users map[store.Key]*portUser) (err error) {
	taken := maps.Clone(has)
	for _, u := range users {
		maps.Copy(taken, u.wants)
	}
	for try := range portTries {
		instead := *t
		if instead.Body, err = withOtherPorts(t.Body, has, taken, try); err != nil {
			return err
		}
		_, err = a.update(ctx, &instead)
		if !portTaken(err) && !portOutside(err) {
			break
		}
	}
	return err
}

// withOtherPorts is a Service whose ports of nodes that it has not are others, which are not taken: the next ones
// for half of the tries, and the ones before for the others.
func withOtherPorts(body []byte, has, taken nodePorts, try int) ([]byte, error) {
	o := map[string]any{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, fmt.Errorf("decode desired object: %w", err)
	}
	spec, _ := o["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	used := nodePorts{}
	for _, p := range ports {
		port, _ := p.(map[string]any)
		number, _ := port["nodePort"].(float64)
		protocol, _ := port["protocol"].(string)
		at := nodePort{cmp.Or(protocol, "TCP"), int64(number)}
		if at.number == 0 || has[at] {
			continue
		}
		step := int64(1)
		if try >= portTries/2 {
			step = -1
		}
		for left := try % (portTries / 2); left >= 0; left-- {
			at.number += step
			for taken[at] || used[at] {
				at.number += step
			}
		}
		used[at] = true
		port["nodePort"] = at.number
	}
	return json.Marshal(o)
}
