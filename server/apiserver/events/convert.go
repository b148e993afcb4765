package events

import (
	"crypto/sha256"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubernetes/pkg/apis/core"

	onsite "skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

// convert returns what a target says about an object of the space as an Event there, in the form of
// those that targets report. It has no resourceVersion: it is stored nowhere.
func convert(found onsite.Found, namespace string, of types.UID) api.Event {
	e, target := found.Event, found.Place.At.Target
	kind, _ := onsite.KindOf(found.Place.Kind)
	return api.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: e.Name, Namespace: namespace, UID: uid(of, e.Name),
			CreationTimestamp: metav1.NewTime(e.First),
			Annotations:       map[string]string{exchange.ReportedFrom: target},
		},
		InvolvedObject: api.ObjectReference{
			Kind: found.Place.Kind, APIVersion: kind.APIVersion(), Namespace: namespace,
			Name: found.Place.Name, UID: of, FieldPath: e.FieldPath,
		},
		Type: e.Type, Reason: e.Reason, Message: e.Message,
		Source:              api.EventSource{Component: e.Component, Host: target},
		ReportingController: e.Component, ReportingInstance: target,
		FirstTimestamp: metav1.NewTime(e.First), LastTimestamp: metav1.NewTime(e.Last),
		Count: int32(min(e.Count, 1<<30)),
	}
}

// uid is the same each time that an Event is shown.
func uid(of types.UID, name string) types.UID {
	sum := sha256.Sum256([]byte(string(of) + "\x00" + name))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8, for what is made otherwise
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}
