package clusterset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
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
	// by are the offers, the oldest first.
	by []offer
	// members are all spaces of the set, by name.
	members []string
}

// verdict is what came of one offer: the reason and message of conditions, empty where they are as they should be.
type verdict struct {
	invalid, why       string
	conflict, contrary string
	leftOut            string // ports that are not exported, for people
}

// Reasons of conditions of a ServiceExport.
const (
	reasonNoService    = "NoService"
	reasonType         = "InvalidServiceType"
	reasonReachTarget  = "ReachTarget"
	reasonTooMany      = "TooManyExports"
	reasonPortConflict = "PortConflict"
	reasonNoSet        = "NoClusterSet"
	reasonNotMade      = "NotMadeByCenter" // of a ServiceImport
)

// mostExports is how many Services a space exports. Each is an import in all spaces of its set.
const mostExports = 500

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
			var ports []port
			ports, v.leftOut = o.ports()
			for _, p := range ports {
				if why := is.add(p); why != "" && v.conflict == "" {
					v.conflict, v.contrary = reasonPortConflict, why
				}
			}
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

// derived is the name of the Service that serves an import.
func derived(service string) string {
	sum := sha256.Sum256([]byte(service))
	return "derived-" + hex.EncodeToString(sum[:5])
}
