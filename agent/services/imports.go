package services

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// A Service that serves an import of its space has a name in the zone of cluster sets, too: the cluster's DNS finds its
// address in a ServiceImport, where the cluster knows that kind.

// membersOf are the spaces whose Pods may call a Service besides those of its own: a site has a Namespace of one space
// alone, and Pods of others that import the same.
func membersOf(o *target.Object) map[owner]bool {
	all := map[owner]bool{}
	for text := range strings.SplitSeq(o.Metadata.Annotations[target.AnnotationMembers], ",") {
		if space, uid, is := strings.Cut(text, "="); is && space != "" && uid != "" {
			all[owner{space, uid}] = true
		}
	}
	return all
}

// callsLocked says whether Pods of a space may call a Service: ours and members may, theirs may not. s.mu must be
// held.
func callsLocked(s *Services, of callee, from owner) who {
	switch {
	case from == owner{of.key.Space, of.spaceUID}:
		return ours
	case s.members[of.at][from]:
		return members
	}
	return theirs
}

// imported is the ServiceImport that was written of a Service.
type imported struct {
	is   target.Import
	when time.Time
}

// nameImport has the cluster's DNS know a Service by the name of the import that it serves, if it serves one.
func (s *Services) nameImport(ctx context.Context, e *entry, o *target.Object, is *spec) error {
	of := o.Metadata.Labels[target.LabelImported] // which whoever uses the space may write, too
	if !exchange.IsHost(of) || is.ClusterIP == headless || time.Since(s.importless) < lookEvery {
		return nil
	}
	want := target.Import{Namespace: e.of.at.namespace, Name: of, Service: e.of.at.service, UID: e.of.uid,
		Addresses: []string{is.ClusterIP}}
	for port, name := range is.tcp() {
		want.Ports = append(want.Ports, target.ImportedPort{Name: name, Port: port})
	}
	slices.SortFunc(want.Ports, func(a, b target.ImportedPort) int { return cmp.Compare(a.Port, b.Port) })
	if want.Equal(&e.named.is) && time.Since(e.named.when) < keepEvery {
		return nil
	}
	known, err := target.KeepImport(ctx, s.client, want)
	switch {
	case err != nil:
		return err
	case !known:
		s.importless = time.Now()
	default:
		e.named = imported{want, time.Now()}
	}
	return nil
}
