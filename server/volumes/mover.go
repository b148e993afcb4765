package volumes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// Side says at which end of a copy a mover is.
type Side string

// The sides of a move, and those of a standby: nothing of its unit is at the target that has it.
const (
	SideFrom    Side = "from"
	SideTo      Side = "to"
	SideSource  Side = "source"
	SideStandby Side = "standby"
)

// Reads reports whether a mover only reads, where the unit is or was.
func (s Side) Reads() bool { return s == SideFrom || s == SideSource }

// Replicates reports whether a mover is one of a standby.
func (s Side) Replicates() bool { return s == SideSource || s == SideStandby }

// Mark is what the annotation of a mover says: whose volumes it copies, between which targets, by their UIDs.
type Mark struct {
	Unit     binding.UnitID
	From, To string
	Side     Side
}

// String is the annotation.
func (m Mark) String() string { return fmt.Sprintf("%s %s %s %s", m.Unit, m.From, m.To, m.Side) }

// ParseMark reads the annotation; it is false for any other text.
func ParseMark(text string) (Mark, bool) {
	part := strings.Split(text, " ")
	if len(part) != 4 || part[0] == "" || part[1] == "" || part[2] == "" ||
		!slices.Contains([]Side{SideFrom, SideTo, SideSource, SideStandby}, Side(part[3])) {
		return Mark{}, false
	}
	return Mark{binding.UnitID(part[0]), part[1], part[2], Side(part[3])}, true
}

// Mount is where a mover has the volume, Program what it runs, and Memory a file of what its rounds have copied: it is
// there for as long as the Pod.
const (
	Mount   = "/volume"
	Program = "/skerry"
	Memory  = memoryDir + "/rounds"

	memoryDir  = "/memory"
	memorySize = "160Mi" // for two of what a mover remembers at most
)

// MoverKey names the mover of a claim.
func MoverKey(m *Move, c Claim, side Side) store.Key {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %s %s", m.Unit, m.FromUID, m.ToUID, c.UID, c.Name))
	name, prefix := c.Name, "move"
	if side.Replicates() {
		prefix = "copy"
	}
	if len(name) > 40 {
		name = strings.TrimRight(name[:40], "-.")
	}
	return store.Key{Space: m.Space, Group: "apps", Resource: "deployments", Namespace: c.Namespace,
		Name: fmt.Sprintf("%s-%s-%s-%s", prefix, strings.ReplaceAll(name, ".", "-"), hex.EncodeToString(sum[:4]), side)}
}

// Component is what movers are, in their label app.kubernetes.io/component.
const Component = "volume-mover"

// MoverLabel is on the Pod of a mover, with the name of its Deployment. Labels of skerry.dev are not mirrored.
const MoverLabel = "app.kubernetes.io/instance"

// Mover is the Deployment at one end of a copy. template is that of a workload which mounts the claim: the mover is the
// same user, so that it may read and write the same; at the new target it is scheduled like it, since the volume is
// made where it runs. node is where the workload runs now, empty for nowhere.
func Mover(
	k store.Key, m *Move, c Claim, side Side, image string, template map[string]any, node string,
) map[string]any {
	labels := map[string]any{MoverLabel: k.Name}
	container := map[string]any{
		"name": "mover", "image": image, "command": []any{Program, "volume", "pause"},
		"resources":    map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "32Mi"}},
		"volumeMounts": []any{map[string]any{"name": "volume", "mountPath": Mount, "readOnly": side.Reads()}},
	}
	pod := map[string]any{
		"terminationGracePeriodSeconds": int64(2), "automountServiceAccountToken": false, "enableServiceLinks": false,
		"volumes": []any{map[string]any{"name": "volume",
			"persistentVolumeClaim": map[string]any{"claimName": c.Name}}},
	}
	spec := fields.Map(runtime.DeepCopyJSON(template), "spec")
	secure(pod, container, spec, c)
	for _, name := range []string{"imagePullSecrets", "tolerations", "runtimeClassName"} {
		if v, ok := spec[name]; ok {
			pod[name] = v
		}
	}
	switch {
	case !side.Reads():
		for _, name := range []string{"nodeSelector", "affinity", "topologySpreadConstraints", "priorityClassName"} {
			if v, ok := spec[name]; ok {
				pod[name] = v
			}
		}
	case node != "": // a volume of one node is mounted where the app runs
		pod["affinity"] = beside(node)
	}
	if !side.Replicates() { // whose rounds are processes of many Pods
		container["volumeMounts"] = append(fields.List(container, "volumeMounts"),
			map[string]any{"name": "memory", "mountPath": memoryDir})
		pod["volumes"] = append(fields.List(pod, "volumes"),
			map[string]any{"name": "memory", "emptyDir": map[string]any{"sizeLimit": memorySize}})
	}
	pod["containers"] = []any{container}
	annotations := map[string]any{v1alpha1.AnnotationMover: Mark{m.Unit, m.FromUID, m.ToUID, side}.String()}
	if c.Made != nil {
		made := *c.Made
		made.Make = !side.Reads()
		text, _ := json.Marshal(made) // strings, numbers and what was JSON
		annotations[store.AnnotationMoverClaim] = string(text)
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": k.Name, "namespace": k.Namespace,
			"labels": map[string]any{v1alpha1.LabelTarget: m.At(side), "app.kubernetes.io/managed-by": "skerry",
				"app.kubernetes.io/component": Component},
			"annotations": annotations,
		},
		"spec": map[string]any{
			"replicas": int64(1), "revisionHistoryLimit": int64(0), "strategy": map[string]any{"type": "Recreate"},
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
		},
	}
}

// beside has a Pod run on a node.
func beside(node string) map[string]any {
	return map[string]any{"nodeAffinity": map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{
			map[string]any{"matchFields": []any{map[string]any{"key": "metadata.name", "operator": "In",
				"values": []any{node}}}}}}}}
}

// secure has a mover be who mounts the claim in a workload: the first container that does, else the first. Where
// the workload leaves its user to its image, the mover is root, so that files keep their owners.
func secure(pod, container, spec map[string]any, c Claim) {
	whole, own := fields.Map(spec, "securityContext"), fields.Map(mounting(spec, c), "securityContext")
	if own == nil {
		own = map[string]any{}
	}
	for _, name := range []string{"readOnlyRootFilesystem", "procMount"} {
		delete(own, name)
	}
	said := whole["runAsUser"] != nil || own["runAsUser"] != nil
	if !said && whole["runAsNonRoot"] != true && own["runAsNonRoot"] != true {
		own["runAsUser"] = int64(0)
	}
	if len(whole) > 0 {
		pod["securityContext"] = whole
	}
	container["securityContext"] = own
}

// mounting is the container of a Pod that mounts a claim, its first where none does.
func mounting(spec map[string]any, c Claim) map[string]any {
	volume := ""
	if c.Made != nil { // it is mounted by the name of its template
		volume = c.Made.Template
	}
	for v := range fields.Maps(spec, "volumes") {
		if fields.String(v, "persistentVolumeClaim", "claimName") == c.Name {
			volume = fields.String(v, "name")
		}
	}
	var first map[string]any
	for container := range fields.Maps(spec, "containers") {
		if first == nil {
			first = container
		}
		for m := range fields.Maps(container, "volumeMounts") {
			if volume != "" && fields.String(m, "name") == volume {
				return container
			}
		}
	}
	return first
}

// TemplateOf is what the Pods of a workload are made of: a Pod is its own.
func TemplateOf(user map[string]any) map[string]any {
	switch fields.String(user, "kind") {
	case "Pod":
		return user
	case "CronJob":
		return fields.Map(user, "spec", "jobTemplate", "spec", "template")
	}
	return fields.Map(user, "spec", "template")
}

// WakeUp is the patch that has a mover run again which has only kept its volume, see Keeper.
func WakeUp() []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":1},"metadata":{"annotations":{%q:null}}}`,
		v1alpha1.AnnotationKeepUntil)
}

// Keeper is the patch that has the mover at the target that was left run no more. For as long as it is there its claim
// is there, too: until a time.
func Keeper(until time.Time) []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":0},"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationKeepUntil,
		until.UTC().Format(time.RFC3339))
}

// KeepsNot is the patch that has a mover keep no volume which is another one's to keep: the unit has it again.
func KeepsNot() []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationKeepUntil)
}

// TakesBack is the patch that takes orders off a mover which do not count: that its volume be forgotten, that the unit
// begin on it.
func TakesBack(forget, promote bool) []byte {
	notes := map[string]any{}
	if forget {
		notes[v1alpha1.AnnotationKeepUntil] = nil
	}
	if promote {
		notes[v1alpha1.AnnotationPromote] = nil
	}
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": notes}}) // texts
	return body
}
