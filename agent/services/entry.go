package services

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/ondemand"
)

// entry is a Service whose name leads to other sites. Only the loop changes it.
type entry struct {
	of     callee
	at     netip.Addr
	ports  map[doorKey]*door
	fronts map[string]front // of a headless Service, by host
	kept   target.RemoteSlice
	when   time.Time // when that was written
	named  imported
	here   straight // what answers for it at this site
	ending context.CancelFunc
	ctx    context.Context
	open   sync.WaitGroup
	// nowhere is about callers who are answered nowhere, denied about those whom policies keep out.
	nowhere, denied telling
}

// callee is a Service as its callers and the parent know it.
type callee struct {
	uid      string    // at the target
	key      store.Key // in the space
	origin   string    // its UID there
	spaceUID string
	at       name
}

// doorKey is a port of a Service, of the Pod with a host name where the Service is headless, and of any where that is
// empty.
type doorKey struct {
	host string
	port uint16
}

// door is a port of this machine that stands for one of a Service.
type door struct {
	listener net.Listener
	port     uint16
	held     ondemand.Asker // of the callers that wait. Those of another door may wait for another Pod, or for longer
}

// spec is what is read of a Service.
type spec struct {
	Type        string
	ClusterIP   string
	IPFamilies  []string
	ExternalIPs []string
	// ExternalTrafficPolicy is Local where callers from outside get Pods of the node that they come to.
	ExternalTrafficPolicy string
	Selector              map[string]string
	Ports                 []struct {
		Name, Protocol string
		Port           uint16
		TargetPort     json.RawMessage
	}
}

// keepEvery is how often a slice that is as it is to be is written again, for what others did to it.
const keepEvery = 10 * time.Minute

// settle looks at all that is dirty. What fails stays so, and keeps nothing else from being done.
func (s *Services) settle(ctx context.Context) error {
	s.anew = false
	at := netip.Addr{}
	if s.Address != nil {
		var err error
		if at, err = s.Address(ctx); err != nil {
			return fmt.Errorf("find the address of this machine by which pods reach it "+
				"(give --gateway-address IP:PORT): %w", err)
		}
	}
	if s.at.IsValid() && s.at != at {
		s.Log.Info("this machine has another address; Services lead there", "from", s.at, "to", at)
		s.all()
	}
	s.at = at
	s.mu.Lock()
	dirty := slices.Collect(maps.Keys(s.dirty))
	clear(s.dirty)
	s.mu.Unlock()
	slices.SortFunc(dirty, func(a, b name) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.service, b.service))
	})
	var failed []error
	before := s.failed
	s.failed = map[name]struct{}{}
	for _, n := range dirty {
		if err := s.settleOne(ctx, n); err != nil {
			failed = append(failed, fmt.Errorf("service %s/%s: %w", n.namespace, n.service, err))
			_, again := before[n]
			s.failed[n], s.anew = struct{}{}, s.anew || !again
			s.mu.Lock()
			s.dirty[n] = struct{}{} // which wakes nobody: it waits
			s.mu.Unlock()
		}
	}
	return errors.Join(append(failed, s.dropFronts(ctx))...)
}

// settleOne makes one Service as it is to be.
func (s *Services) settleOne(ctx context.Context, n name) error {
	s.mu.Lock()
	o, e, l := s.known[n], s.entries[n], s.leads[n]
	ready, active := s.readyLocked(n), l != nil && l.active
	s.mu.Unlock()
	is, err := specOf(o)
	if err != nil {
		o = nil
	}
	if e != nil && (o == nil || e.of.uid != o.Metadata.UID || e.at != s.at) {
		s.close(n, e, o == nil || e.of.uid != o.Metadata.UID)
		e = nil
	}
	if o == nil || !is.leads(s.at) {
		if e != nil {
			s.close(n, e, true)
		}
		return s.client.DropRemoteSlice(ctx, n.namespace, n.service)
	}
	if e == nil {
		if e, err = s.begin(ctx, n, o); err != nil {
			return err
		}
	}
	hosts := is.hosts(o)
	listening, err := s.listen(ctx, e, &is, hosts)
	if err != nil {
		return err
	}
	if is.outsiders(o) != none && s.nodes.now() == nil {
		if err := s.nodes.look(ctx, s.client); err != nil {
			return err
		}
	}
	slice := target.RemoteSlice{Namespace: n.namespace, Service: n.service, UID: o.Metadata.UID, At: s.at,
		Ready: !ready || active}
	if is.ExternalTrafficPolicy == "Local" {
		if slice.Node, err = s.nodes.nodeOf(ctx, s.client, s.at); err != nil {
			return err
		}
	}
	if is.ClusterIP == headless {
		err = s.keepFronts(ctx, e, &is, hosts, listening, &slice)
	} else {
		for _, door := range slices.SortedFunc(maps.Keys(listening), compareDoors) {
			slice.Ports = append(slice.Ports, listening[door])
		}
	}
	if err != nil {
		return err
	}
	if !slice.Equal(&e.kept) || time.Since(e.when) >= keepEvery {
		if err := s.client.KeepRemoteSlice(ctx, slice); err != nil {
			return err
		}
		e.kept, e.when = slice, time.Now()
	}
	l.see(active, ready)
	return s.nameImport(ctx, e, o, &is)
}

// specOf reads the spec of a Service. A nil one has none.
func specOf(o *target.Object) (is spec, err error) {
	if o != nil {
		err = json.Unmarshal(o.Spec, &is)
	}
	return is, err
}

// leads reports whether a Service can lead elsewhere: it has an address of a family or is headless, and selects its
// Pods.
func (is *spec) leads(at netip.Addr) bool {
	return at.IsValid() && is.ClusterIP != "" && len(is.Selector) > 0 &&
		slices.Contains(is.IPFamilies, target.FamilyOf(at)) && len(is.tcp()) > 0
}

// tcp are the TCP ports of a Service, by number.
func (is *spec) tcp() map[uint16]string {
	out := map[uint16]string{}
	for _, p := range is.Ports {
		if p.Protocol == "" || p.Protocol == "TCP" {
			out[p.Port] = p.Name
		}
	}
	return out
}

// hosts are those whose ports have doors: the empty one, which stands for any Pod, where the Service has an address.
func (is *spec) hosts(o *target.Object) []string {
	if is.ClusterIP == headless {
		return hostsOf(o)
	}
	return []string{""}
}

// doors are the ports of the Service that are to have doors, and their names.
func (is *spec) doors(hosts []string) map[doorKey]string {
	out, ports := map[doorKey]string{}, is.tcp()
	if is.ClusterIP == headless {
		called := is.called()
		maps.DeleteFunc(ports, func(port uint16, _ string) bool { return called[port] == 0 })
	}
	for port, name := range ports {
		for _, host := range hosts {
			out[doorKey{host, port}] = name
		}
	}
	return out
}

func compareDoors(a, b doorKey) int {
	return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.port, b.port))
}

// errNotYet is returned for a Service that was seen before it was noted whose it is.
var errNotYet = errors.New("it is not known yet of which space it is")

// begin makes the entry of a Service.
func (s *Services) begin(ctx context.Context, n name, o *target.Object) (*entry, error) {
	k, known := s.Inventory.ByUID(o.Metadata.UID)
	if !known {
		return nil, errNotYet
	}
	namespace, err := s.client.Get(ctx, namespaces, "", n.namespace, false)
	if err != nil {
		return nil, err
	}
	uid := namespace.Metadata.Annotations[target.AnnotationSpaceUID]
	if !namespace.IsOf(k.Space, uid) {
		return nil, fmt.Errorf("its namespace is not of space %s", k.Space)
	}
	e := &entry{of: callee{o.Metadata.UID, k, o.OriginUID(), uid, n}, at: s.at, ports: map[doorKey]*door{}}
	e.ctx, e.ending = context.WithCancel(ctx)
	s.mu.Lock()
	s.entries[n] = e
	s.mu.Unlock()
	return e, nil
}

var namespaces = target.Resource{Version: "v1", Plural: "namespaces"}

// listen opens and closes the doors of a Service, and returns which port each is.
func (s *Services) listen(
	ctx context.Context,
	e *entry,
	is *spec,
	hosts []string,
) (out map[doorKey]target.RemotePort, err error) {
	wanted, changed := is.doors(hosts), false
	for k, d := range e.ports {
		if _, still := wanted[k]; !still {
			d.listener.Close()
			delete(e.ports, k)
			s.ports.drop(portKey{e.of.uid, k})
			changed = true
		}
	}
	var failed []error
	out = map[doorKey]target.RemotePort{}
	for _, k := range slices.SortedFunc(maps.Keys(wanted), compareDoors) {
		d := e.ports[k]
		if d == nil {
			if err := hasShare(s, e); err != nil {
				failed = append(failed, err)
				continue
			}
			before, had := s.ports.given[portKey{e.of.uid, k}]
			l, at, err := s.ports.listen(ctx, e.at, portKey{e.of.uid, k})
			if err != nil {
				failed = append(failed, err)
				continue
			}
			changed = changed || !had || before != at
			d = &door{listener: l, port: at}
			e.ports[k] = d
			e.open.Go(func() { s.accept(e, k, d) })
		}
		out[k] = target.RemotePort{Name: wanted[k], Port: d.port}
	}
	if changed {
		failed = append(failed, s.ports.write())
	}
	return out, errors.Join(failed...)
}

// hasShare returns an error where a Service may have no more ports, for its space or for the imports of that.
func hasShare(s *Services, of *entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, imports := 0, 0
	for n, e := range s.entries {
		if e.of.key.Space != of.of.key.Space {
			continue
		}
		if all += len(e.ports); len(s.members[n]) > 0 {
			imports += len(e.ports)
		}
	}
	switch {
	case all >= mostPortsOfSpace:
		return errNoShare
	case imports >= mostPortsOfImports && len(s.members[of.of.at]) > 0:
		return errNoShareOfImports
	}
	return nil
}

// close ends an entry and its connections. Gone gives its ports back.
func (s *Services) close(n name, e *entry, gone bool) {
	e.ending()
	s.stale = s.stale || len(e.fronts) > 0
	for k, d := range e.ports {
		d.listener.Close()
		if gone {
			s.ports.drop(portKey{e.of.uid, k})
		}
	}
	e.open.Wait()
	s.mu.Lock()
	delete(s.entries, n)
	s.mu.Unlock()
	if gone {
		s.keepPorts()
	}
}

// closeAll ends all entries, whose slices and ports stay for the next run.
func (s *Services) closeAll() {
	s.mu.Lock()
	all := maps.Clone(s.entries)
	s.mu.Unlock()
	for n, e := range all {
		s.close(n, e, false)
	}
}
