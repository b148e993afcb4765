package customize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// Origin is where an object comes from; it is written on what is delivered.
type Origin struct {
	Space string
	// Placement that decided, empty where none did.
	Placement string
	// UID of the source object.
	UID string
	// SpaceUID is the UID of the space, for a Namespace.
	SpaceUID string
	// NamespacePrefix is that of the space's namespaceMapping, empty where it has none.
	NamespacePrefix string
	// Sync is the annotation skerry.dev/sync of the deciding policy. Empty leaves the one that the
	// object has from a parent.
	Sync string
	// Division is how the replicas of a workload, or what an autoscaler may have of them, are shared out among
	// its targets, nil where each has all of them, and for what has none.
	Division *placement.Division
	// RunsOnce says of workloads that they must not run twice, because their Placement breaks first.
	RunsOnce bool
	// PodAPI is which API the pods of a workload use, as far as the center decides that: SpaceAPI
	// gives them that of their space, NoAPI none, everything else leaves their template as it is.
	PodAPI placement.PodAPI
	// Reaches says of a Service that its name answers wherever its space runs Pods.
	Reaches bool
	// Hosts are the host names of the Pods that such a Service governs, empty where nothing is known of them here: then
	// it keeps those that a parent has named.
	Hosts string
	// Entered says of such a Service that an Ingress or a route sends callers to it. One that a parent says it of
	// stays so.
	Entered bool
	// Members are the spaces whose Pods such a Service answers besides those of its own, and their UIDs, see v1alpha1's
	// AnnotationMembers.
	Members string
	// Stops are the targets at which a CronJob starts no more Jobs, separated by commas.
	Stops string
}

// Render returns the bytes of an object for its targets. The object is not changed.
func Render(obj map[string]any, o Origin) ([]byte, error) {
	out := maps.Clone(obj)
	delete(out, "status")
	meta := metadata(obj, o)
	out["metadata"] = meta
	kind := fields.String(obj, "kind")
	apiVersion := fields.String(obj, "apiVersion")
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	if placement.Finished(runs(group, kind), obj) {
		fields.Map(meta, "annotations")[v1alpha1.AnnotationEnded] = "true"
	}
	if name := group + "/" + kind; name == "/Service" || name == "/PersistentVolumeClaim" ||
		name == "/Pod" {
		unallocate(out, Chosen(obj))
	}
	if clean, ok := cleaners[group+"/"+kind]; ok {
		clean(out)
	}
	if _, workload := podPaths[group+"/"+kind]; workload && o.RunsOnce {
		fields.Map(meta, "annotations")[lease.AnnotationRunsOnce] = "true"
	}
	switch {
	case o.Division == nil:
	case group == "autoscaling":
		divideScale(out, o.Division)
	case group == "policy":
		divideBudget(out, o.Division)
	default:
		divide(out, o.Division)
	}
	givePods(out, group+"/"+kind, o.PodAPI)
	unique(out, group+"/"+kind)
	body, err := encode(out)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", kind, err)
	}
	return body, nil
}

// decode reads a rendered body. Numbers stay as they are written.
func decode(body []byte) (o map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return o, nil
}

func encode(o map[string]any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// divide says of a workload how many of its replicas each target has.
func divide(o map[string]any, d *placement.Division) {
	replicas, has := fields.Map(o, "spec")["replicas"]
	if !has {
		replicas = int64(1)
	}
	fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationShares] = Shares(d, Number(replicas))
}

// divideScale says of an autoscaler between which replicas each target has what it scales.
func divideScale(o map[string]any, d *placement.Division) {
	spec := fields.Map(o, "spec")
	least, has := spec["minReplicas"]
	if !has {
		least = int64(1)
	}
	if text, err := json.Marshal(d.Scales(Number(least), Number(spec["maxReplicas"]))); err == nil {
		fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationScales] = string(text)
	}
}

// divideBudget says of a disruption budget how many Pods it counts at each target. A percentage is of the Pods that
// a target has.
func divideBudget(o map[string]any, d *placement.Division) {
	spec, field := fields.Map(o, "spec"), "minAvailable"
	n, counts := fields.Number(spec[field])
	divide := d.Least
	if !counts {
		field, divide = "maxUnavailable", d.Unavailables
		n, counts = fields.Number(spec[field])
	}
	if !counts {
		return
	}
	budgets := map[string]map[string]int64{}
	for target, share := range divide(n) {
		budgets[target] = map[string]int64{field: share}
	}
	if text, err := json.Marshal(budgets); err == nil {
		fields.Map(o, "metadata", "annotations")[v1alpha1.AnnotationBudgets] = string(text)
	}
}

// Shares is the annotation that divides replicas, empty where each target has all.
func Shares(d *placement.Division, replicas int64) string {
	if d == nil {
		return ""
	}
	text, err := json.Marshal(d.Shares(replicas))
	if err != nil {
		return "" // texts and numbers can be encoded
	}
	return string(text)
}

// Rescale returns the body of a rendered workload with other replicas, divided as an annotation of Shares
// says.
func Rescale(body []byte, replicas int64, shares string) ([]byte, error) {
	o, err := decode(body)
	if err != nil {
		return nil, err
	}
	spec, annotations := fields.Map(o, "spec"), fields.Map(o, "metadata", "annotations")
	if spec == nil || annotations == nil {
		return nil, errors.New("it has no spec, or no annotations")
	}
	spec["replicas"] = replicas
	if annotations[v1alpha1.AnnotationShares] = shares; shares == "" {
		delete(annotations, v1alpha1.AnnotationShares)
	}
	return encode(o)
}

// givePods gives the pods of a workload what they use of an API.
func givePods(o map[string]any, name string, api placement.PodAPI) {
	switch api {
	case placement.SpaceAPI:
		spec := podSpecOf(o, name)
		if account := giveAPI(spec); account != "" {
			fields.Map(o, "metadata", "annotations")[store.PodAPI] = account
			// They cannot change, and versions before wrote this.
			if (name == "/Pod" || name == "batch/Job") && hasVolume(spec, isAccountVolume) {
				spec["automountServiceAccountToken"] = false
			}
		}
	case placement.NoAPI:
		if spec := podSpecOf(o, name); spec != nil {
			spec["automountServiceAccountToken"] = false
		}
	case placement.NoWish, placement.TargetAPI:
	}
}

// runs is a key of the kinds that run to their end, as placement knows them.
func runs(group, kind string) store.Key {
	switch group + "/" + kind {
	case "batch/Job":
		return store.Key{Group: group, Resource: "jobs"}
	case "/Pod":
		return store.Key{Resource: "pods"}
	}
	return store.Key{}
}

// metadata keeps what the user said and nothing that an API server or the center wrote.
func metadata(obj map[string]any, o Origin) map[string]any {
	in := fields.Map(obj, "metadata")
	out := map[string]any{}
	for _, field := range []string{"name", "namespace"} {
		if v, ok := in[field]; ok {
			out[field] = v
		}
	}
	if labels := maps.Clone(fields.Map(in, "labels")); len(labels) > 0 {
		delete(labels, v1alpha1.LabelTarget)
		if len(labels) > 0 {
			out["labels"] = labels
		}
	}
	annotations := maps.Clone(fields.Map(in, "annotations"))
	if annotations == nil {
		annotations = map[string]any{}
	}
	delete(annotations, v1alpha1.AnnotationTargets)
	delete(annotations, v1alpha1.AnnotationUnit)
	delete(annotations, v1alpha1.AnnotationEvict)
	delete(annotations, v1alpha1.AnnotationHook)
	delete(annotations, v1alpha1.AnnotationMover) // to a relay it is a Deployment
	delete(annotations, v1alpha1.AnnotationStandby)
	delete(annotations, v1alpha1.AnnotationPromote)
	delete(annotations, v1alpha1.AnnotationDependents)
	delete(annotations, v1alpha1.AnnotationOpenUntil)
	delete(annotations, v1alpha1.AnnotationRefused)
	delete(annotations, v1alpha1.AnnotationUnreachable)
	delete(annotations, v1alpha1.AnnotationAltered)
	delete(annotations, v1alpha1.AnnotationPodAPIUsed)
	delete(annotations, v1alpha1.AnnotationCustomizedBy)
	delete(annotations, v1alpha1.AnnotationCustomizedTemplate)
	delete(annotations, v1alpha1.AnnotationShares)
	delete(annotations, v1alpha1.AnnotationScales)
	delete(annotations, v1alpha1.AnnotationBudgets)
	delete(annotations, v1alpha1.AnnotationImport) // a relay would give the object that UID
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if _, fromParent := annotations[v1alpha1.AnnotationOrigin]; !fromParent {
		delete(annotations, store.PodAPI)
		delete(annotations, lease.AnnotationRunsOnce)
		delete(annotations, v1alpha1.AnnotationHosts)
		delete(annotations, v1alpha1.AnnotationEntered)
	}
	annotations[v1alpha1.AnnotationOrigin] = o.Space + "/" + o.Placement
	annotations[v1alpha1.AnnotationOriginUID] = o.UID
	delete(annotations, v1alpha1.AnnotationSpaceUID)
	if o.SpaceUID != "" {
		annotations[v1alpha1.AnnotationSpaceUID] = o.SpaceUID
	}
	delete(annotations, v1alpha1.AnnotationNamespacePrefix) // of a parent, whose Space does not speak here
	if o.NamespacePrefix != "" {
		annotations[v1alpha1.AnnotationNamespacePrefix] = o.NamespacePrefix
	}
	if o.Reaches {
		annotations[v1alpha1.AnnotationReach] = string(v1alpha1.ReachSpace)
	}
	delete(annotations, v1alpha1.AnnotationStops)
	if o.Stops != "" {
		at := map[string]bool{}
		for name := range strings.SplitSeq(o.Stops, ",") {
			at[name] = true
		}
		text, _ := json.Marshal(at) // names can be written
		annotations[v1alpha1.AnnotationStops] = string(text)
	}
	if o.Entered {
		annotations[v1alpha1.AnnotationEntered] = "true"
	}
	if delete(annotations, v1alpha1.AnnotationMembers); o.Members != "" {
		annotations[v1alpha1.AnnotationMembers] = o.Members
	}
	if o.Hosts != "" {
		annotations[v1alpha1.AnnotationHosts] = o.Hosts
	}
	if o.Sync != "" {
		annotations[v1alpha1.AnnotationSync] = o.Sync
	}
	out["annotations"] = annotations
	return out
}

// own makes the map below m a copy that may be changed, and returns it; nil when there is none.
func own(m map[string]any, field string) map[string]any {
	c := maps.Clone(fields.Map(m, field))
	if c != nil {
		m[field] = c
	}
	return c
}

// drop removes fields from the map below m, and the map itself when nothing is left in it.
func drop(m map[string]any, field string, names ...string) {
	c := own(m, field)
	for _, n := range names {
		delete(c, n)
	}
	if c != nil && len(c) == 0 {
		delete(m, field)
	}
}
