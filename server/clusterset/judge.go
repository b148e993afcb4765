package clusterset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
)

// name is that of what is exported and imported. It is the same in each space.
type name struct{ namespace, service string }

func (n name) String() string { return n.namespace + "/" + n.service }

// offer is what one space exports under a name.
type offer struct {
	space string
	// since is when the export was made, as RFC 3339 has it.
	since string
	// service is the Service, nil where there is none. Nobody changes it.
	service map[string]any
	// over says that the space has mostExports older ones.
	over bool
	// words are what the import is to have of the export, unsaid the keys that it cannot have.
	words  words
	unsaid []string
	// reach is what the Namespace says of where its Services answer, else the Space; empty says nothing.
	reach string
}

// port is one of an import. Between sites there is TCP.
type port struct {
	Name        string
	Number      int64
	AppProtocol string
}

// imported is what all offers of a name come to.
type imported struct {
	ports []port
	words words
	// affinity is for how long after a call callers come back to the Pod that has answered, 0 where they need not.
	affinity time.Duration
	// by are the offers, the oldest first.
	by []offer
	// members are all spaces of the set, by name.
	members []string
}

// verdict is what came of one offer: the reason and message of conditions, empty where they are as they should be.
type verdict struct {
	invalid, why string
	conflicts    []conflict
	leftOut      string   // ports that are not exported, for people
	unsaid       []string // keys of labels and annotations that are not
}

// conflict is what an offer contradicts an older one in.
type conflict struct{ reason, contrary string }

// contradicts adds a conflict, the first of its reason.
func (v *verdict) contradicts(reason, contrary string) {
	if !slices.ContainsFunc(v.conflicts, func(c conflict) bool { return c.reason == reason }) {
		v.conflicts = append(v.conflicts, conflict{reason, contrary})
	}
}

// Reasons of conditions of a ServiceExport.
const (
	reasonNoService   = "NoService"
	reasonType        = "InvalidServiceType"
	reasonReachTarget = "ReachTarget"
	reasonTooMany     = "TooManyExports"
	reasonNoSet       = "NoClusterSet"
	reasonNotMade     = "NotMadeByCenter" // of a ServiceImport

	reasonPortConflict        = "PortConflict"
	reasonLabelsConflict      = "LabelsConflict"
	reasonAnnotationsConflict = "AnnotationsConflict"
	reasonAffinityConflict    = "SessionAffinityConflict"
	reasonTimeoutConflict     = "SessionAffinityConfigConflict"
)

// mostExports is how many Services a space exports. Each is an import in all spaces of its set.
const mostExports = 500

// mostPorts is how many ports an import has. Each is a port of the agent at all sites of the spaces that import it, and
// any of those that export the name may add some.
const mostPorts = 64

// judge says what the offers of one name in one set come to, nil for nothing, and what came of the offer of each space.
func judge(all []offer) (*imported, map[string]verdict) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.space, b.space))
	})
	is, verdicts := &imported{}, map[string]verdict{}
	for _, o := range all {
		var v verdict
		if v.invalid, v.why = o.invalid(); v.invalid == "" {
			is.by = append(is.by, o)
			is.join(&o, &v)
		}
		verdicts[o.space] = v
	}
	if len(is.by) == 0 {
		return nil, verdicts
	}
	if len(is.ports) > 1 {
		for i := range is.ports {
			is.ports[i].Name = cmp.Or(is.ports[i].Name, fmt.Sprintf("port-%d", is.ports[i].Number))
		}
	}
	return is, verdicts
}

// join adds what the newest of the offers is to what the older ones come to.
func (is *imported) join(o *offer, v *verdict) {
	var ports []port
	ports, v.leftOut = o.ports()
	for _, p := range ports {
		if why := is.add(p); why != "" {
			v.contradicts(reasonPortConflict, why)
		}
	}
	v.unsaid = o.unsaid
	affinity := placement.SessionAffinityOf(serviceOf(o.space, name{}), o.service)
	if len(is.by) == 1 {
		is.words, is.affinity = o.words, affinity
		return
	}
	switch {
	case affinity == is.affinity:
	case affinity == 0:
		v.contradicts(reasonAffinityConflict, "sessionAffinity is None here, and ClientIP in an older export, which counts: "+
			"callers come back to the same site, and not to the same of its Pods")
	case is.affinity == 0:
		v.contradicts(reasonAffinityConflict, "sessionAffinity is ClientIP here, and None in an older export, which counts")
	default:
		v.contradicts(reasonTimeoutConflict, fmt.Sprintf("callers come back for %d s here (sessionAffinityConfig), and for "+
			"%d s in an older export, which counts", int(affinity.Seconds()), int(is.affinity.Seconds())))
	}
	const others = " are others than those of an older export, which count"
	if !maps.Equal(is.words.Labels, o.words.Labels) {
		v.contradicts(reasonLabelsConflict, "its exportedLabels"+others)
	}
	if !maps.Equal(is.words.Annotations, o.words.Annotations) {
		v.contradicts(reasonAnnotationsConflict, "its exportedAnnotations"+others)
	}
}

// add adds a port to those of older exports. It says what of these it contradicts, and is left out then.
func (is *imported) add(p port) string {
	for _, have := range is.ports {
		switch {
		case have == p:
			return ""
		case have.Number == p.Number:
			return fmt.Sprintf("port %d is %s here, and %s in an older export, which counts", p.Number, p.words(), have.words())
		case have.Name == p.Name && p.Name != "":
			return fmt.Sprintf("port %q is %d here, and %d in an older export, which counts", p.Name, p.Number, have.Number)
		}
	}
	if len(is.ports) >= mostPorts {
		return fmt.Sprintf("port %d is left out: an import has %d ports at most, and those of older exports come first",
			p.Number, mostPorts)
	}
	is.ports = append(is.ports, p)
	return ""
}

func (p port) words() string {
	words := "without a name"
	if p.Name != "" {
		words = fmt.Sprintf("%q", p.Name)
	}
	if p.AppProtocol != "" {
		words += " of appProtocol " + p.AppProtocol
	}
	return words
}

// invalid says why an offer cannot be exported, empty for one that can.
func (o *offer) invalid() (reason, message string) {
	spec := fields.Map(o.service, "spec")
	reach := fields.String(fields.Map(o.service, "metadata", "annotations"), v1alpha1.AnnotationReach)
	ports, _ := o.ports()
	switch {
	case o.over:
		return reasonTooMany, fmt.Sprintf("the space has %d older exports, which count; delete some of them", mostExports)
	case o.service == nil:
		return reasonNoService, "there is no Service of this name in the Namespace"
	case fields.String(spec, "type") == "ExternalName":
		return reasonType, "the Service is of type ExternalName, which is a name of somewhere else"
	case fields.String(spec, "clusterIP") == "None":
		return reasonType, "the Service is headless (clusterIP: None), and names of single Pods do not leave their space; " +
			"export one with an address that selects the same Pods"
	case len(fields.Map(spec, "selector")) == 0:
		return reasonType, "the Service has no selector, so nobody knows what would answer"
	case len(ports) == 0:
		return reasonType, "the Service has no TCP port, and between sites there is TCP alone"
	case cmp.Or(reach, o.reach) == string(v1alpha1.ReachTarget):
		return reasonReachTarget, "the Service is to answer where it is alone; write skerry.dev/reach: Space on it, or " +
			"on its Namespace, or take that word off its Space"
	}
	return "", ""
}

// ports are the TCP ports of the Service, and the others for people.
func (o *offer) ports() (out []port, others string) {
	var not []string
	for p := range fields.Maps(o.service, "spec", "ports") {
		number, _ := fields.Number(p["port"])
		if protocol := fields.String(p, "protocol"); protocol != "" && protocol != "TCP" {
			not = append(not, fmt.Sprintf("%d/%s", number, protocol))
			continue
		}
		out = append(out, port{fields.String(p, "name"), number, fields.String(p, "appProtocol")})
	}
	return out, strings.Join(not, ", ")
}

// spaces are those whose offers an import leads to, by name.
func (is *imported) spaces() (out []string) {
	for _, o := range is.by {
		out = append(out, o.space)
	}
	slices.Sort(out)
	return out
}
