package services

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"skerry.dev/skerry/agent/target"
)

// A headless Service has no address of its own: the site's DNS answers with those of its Pods. Where it has none, it
// answers with addresses that stand for Pods elsewhere (target.Front): one for each Pod that has a host name, or one
// for all of them. Callers know the ports of Pods, so a front has these.

// headless is the clusterIP of a Service without an address.
const headless = "None"

// mostHosts is how many Pods of one Service have a front. Each has a port of this machine for each port of the Service.
const mostHosts = 64

var hostsForm = regexp.MustCompile(`^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)-\{(\d{1,9})\.\.(\d{1,9})\}$`)

// hostsOf lists the host names of the Pods of a Service, at most mostHosts. It returns the empty one alone, which
// stands for any Pod, where none is known.
func hostsOf(o *target.Object) (out []string) {
	for text := range strings.SplitSeq(o.Metadata.Annotations[target.AnnotationHosts], ",") {
		is := hostsForm.FindStringSubmatch(text)
		if is == nil {
			continue
		}
		first, _ := strconv.Atoi(is[2])
		last, _ := strconv.Atoi(is[3]) // which are numbers
		for n := first; n <= last && len(out) < mostHosts; n++ {
			if host := is[1] + "-" + strconv.Itoa(n); len(host) <= 63 {
				out = append(out, host)
			}
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// front is what was made of a target.Front.
type front struct {
	address string
	is      target.Front
	when    time.Time // when it was written
}

// called are the ports by which callers know those of the Service with these numbers: those of its Pods. Of a port of
// theirs that the site knows by its name alone, it is assumed to have the number that the Service gives it. A port that
// two numbers lead to is the first one's.
func (is *spec) called() map[uint16]uint16 {
	out, taken := map[uint16]uint16{}, map[uint16]bool{}
	for _, p := range is.Ports {
		if p.Protocol != "" && p.Protocol != "TCP" {
			continue
		}
		at := p.Port
		var number uint16
		if json.Unmarshal(p.TargetPort, &number) == nil && number != 0 {
			at = number
		}
		if !taken[at] {
			taken[at], out[p.Port] = true, at
		}
	}
	return out
}

// keepFronts makes the fronts of a headless Service as they are to be, and says so in its slice.
func (s *Services) keepFronts(
	ctx context.Context,
	e *entry,
	is *spec,
	hosts []string,
	listening map[doorKey]target.RemotePort,
	slice *target.RemoteSlice,
) error {
	called := is.called()
	if e.fronts == nil {
		e.fronts = map[string]front{}
	}
	slice.Hosts, slice.Ports = []target.RemoteHost{}, nil
	for i, host := range hosts {
		want := target.Front{Namespace: slice.Namespace, Service: slice.Service, UID: slice.UID, Host: host, At: s.at}
		for _, p := range is.Ports {
			port, has := listening[doorKey{host, p.Port}]
			if !has {
				continue
			}
			want.Ports, want.Called = append(want.Ports, port), append(want.Called, called[p.Port])
			if i == 0 {
				slice.Ports = append(slice.Ports, target.RemotePort{Name: port.Name, Port: called[p.Port]})
			}
		}
		f := e.fronts[host]
		if !f.same(want) || time.Since(f.when) >= keepEvery {
			address, err := target.Fronts{Client: s.client}.Keep(ctx, want)
			if err != nil {
				return err
			}
			f = front{address, want, time.Now()}
			e.fronts[host] = f
		}
		slice.Hosts = append(slice.Hosts, target.RemoteHost{Host: host, Address: f.address})
	}
	for host := range e.fronts {
		if !slices.Contains(hosts, host) {
			delete(e.fronts, host)
			s.stale = true
		}
	}
	return nil
}

func (f *front) same(is target.Front) bool {
	return f.is.At == is.At && f.is.UID == is.UID && slices.Equal(f.is.Ports, is.Ports) &&
		slices.Equal(f.is.Called, is.Called)
}

// dropFronts removes the fronts that stand for nothing, if there may be some.
func (s *Services) dropFronts(ctx context.Context) error {
	if !s.stale {
		return nil
	}
	names := map[string]bool{}
	s.mu.Lock()
	for _, o := range s.known {
		if is, err := specOf(o); err == nil && is.ClusterIP == headless && is.leads(s.at) {
			for _, host := range hostsOf(o) {
				names[target.FrontName(o.Metadata.UID, host)] = true
			}
		}
	}
	s.mu.Unlock()
	err := target.Fronts{Client: s.client}.Only(ctx, names)
	s.stale = err != nil
	return err
}
