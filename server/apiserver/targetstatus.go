package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericstorage "k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/server/apiserver/storage"
)

// targetStatus answers one request, PUT of the status of a SyncTarget by the center itself, which
// has thousands of them to write when sites come back. Upstream takes a custom resource apart and
// puts it together again a dozen times on the way to the store; here what is not the status stays
// the bytes that it is. All else is as for any write: it has been authenticated, authorized and
// noted for the audit by now, is refused when the object is not what its writer saw or the status
// is not valid, and is seen by watches. Requests from outside never come here.
type targetStatus struct {
	storage genericstorage.Interface
	codecs  serializer.CodecFactory
	serve   http.HandlerFunc
}

// targetsResource is what is written here, and maxTargetStatus how long a request may be: a
// thousand times what it is.
var targetsResource = v1alpha1.GroupVersion.WithResource("synctargets")

const maxTargetStatus = 3 << 20

// storedTarget is a SyncTarget of which nobody looks at more than the metadata.
type storedTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   json.RawMessage `json:"spec,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (t *storedTarget) DeepCopyObject() runtime.Object {
	return &storedTarget{
		TypeMeta:   t.TypeMeta,
		ObjectMeta: *t.ObjectMeta.DeepCopy(),
		Spec:       slices.Clone(t.Spec),
		Status:     slices.Clone(t.Status),
	}
}

// newTargetStatus returns what writes to a storage of its own, below which are the same keys as
// below that of the custom resource. destroy ends it.
func newTargetStatus(all *storage.Storages) (s *targetStatus, destroy func(), err error) {
	scheme, kind := runtime.NewScheme(), v1alpha1.GroupVersion.WithKind("SyncTarget")
	scheme.AddKnownTypeWithName(kind, &storedTarget{})
	s = &targetStatus{codecs: serializer.NewCodecFactory(scheme)}
	format := jsonserializer.NewSerializerWithOptions(
		jsonserializer.DefaultMetaFactory,
		scheme,
		scheme,
		jsonserializer.SerializerOptions{},
	)
	o := all.WithCodec(targetsResource.GroupResource(), runtime.NewCodec(format, format), false, "")
	s.storage, destroy, err = o.Decorator(
		o.StorageConfig,
		o.ResourcePrefix,
		nil,
		func() runtime.Object { return &storedTarget{} },
		func() runtime.Object { return &v1alpha1.SyncTargetList{} },
		nil,
		nil,
		nil,
	)
	s.serve = metrics.InstrumentHandlerFunc(
		"PUT",
		targetsResource.Group,
		targetsResource.Version,
		targetsResource.Resource,
		"status",
		"resource",
		"skerry",
		false,
		"",
		s.put,
	)
	return s, destroy, err
}

// takes reports whether a request is one that is answered here.
func (*targetStatus) takes(r *http.Request) bool {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	return ok && r.Method == http.MethodPut && request.FromCenter(
		r.Context(),
	) && request.Space(r.Context()) == request.RootSpace && r.URL.RawQuery == "" && info.Subresource == "status" &&
		info.Resource == targetsResource.Resource &&
		info.APIGroup == targetsResource.Group &&
		info.APIVersion == targetsResource.Version
}

func (s *targetStatus) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTargetStatus))
	var written *storedTarget
	if err == nil {
		info, _ := apirequest.RequestInfoFrom(r.Context())
		written, err = s.write(r, info.Name, body)
	}
	if err != nil {
		response.Write(w, responsewriters.ErrorToAPIStatus(err))
		return
	}
	audit.LogResponseObject(r.Context(), written, targetsResource.GroupVersion(), s.codecs)
	answer, err := json.Marshal(written)
	if err != nil {
		response.Write(w, responsewriters.ErrorToAPIStatus(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // who has gone need not know
}

// write stores a status, of exactly the version of the object that its writer saw.
func (s *targetStatus) write(r *http.Request, name string, body []byte) (*storedTarget, error) {
	var asked storedTarget
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, apierrors.NewBadRequest("read a SyncTarget: " + err.Error())
	}
	audit.LogRequestObject(r.Context(), &asked, targetsResource.GroupVersion(), targetsResource, "status", s.codecs)
	if asked.Name != name || asked.UID == "" || asked.ResourceVersion == "" {
		return nil, apierrors.NewBadRequest(
			"the status of a SyncTarget is written with metadata.name, uid and resourceVersion of what it is the status of",
		)
	}
	status, err := checkedStatus(&asked)
	if err != nil {
		return nil, err
	}
	stored := &storedTarget{}
	err = s.storage.GuaranteedUpdate(
		r.Context(),
		"/"+targetsResource.Group+"/"+targetsResource.Resource+"/"+name,
		stored,
		false,
		nil,
		func(in runtime.Object, _ genericstorage.ResponseMeta) (runtime.Object, *uint64, error) {
			is := in.(*storedTarget)
			if err := unchanged(is, asked.UID, asked.ResourceVersion); err != nil {
				return nil, nil, err
			}
			is.Status = status
			// Nobody but the center writes a status, and it does so as a whole.
			is.ManagedFields = slices.DeleteFunc(
				is.ManagedFields,
				func(m metav1.ManagedFieldsEntry) bool { return m.Subresource == "status" },
			)
			return is, nil, nil
		},
		nil,
	)
	if err != nil {
		return nil, storeerr.InterpretUpdateError(err, targetsResource.GroupResource(), name)
	}
	return stored, nil
}

func unchanged(is *storedTarget, uid types.UID, version string) error {
	switch {
	case is.UID != uid:
		return apierrors.NewConflict(
			targetsResource.GroupResource(),
			is.Name,
			fmt.Errorf("it is another one of this name, with UID %s", is.UID),
		)
	case is.ResourceVersion != version:
		return apierrors.NewConflict(
			targetsResource.GroupResource(),
			is.Name,
			errors.New("it has changed: look at what it is now, and write the status of that"),
		)
	}
	return nil
}

// checkedStatus returns the status that is asked for, as it is stored. Its definition is made of
// the type that it is read into, and the rules of conditions are all that there are beyond that.
func checkedStatus(asked *storedTarget) (json.RawMessage, error) {
	var status v1alpha1.SyncTargetStatus
	if err := json.Unmarshal(asked.Status, &status); err != nil {
		return nil, apierrors.NewBadRequest("read the status of a SyncTarget: " + err.Error())
	}
	if wrong := metav1validation.ValidateConditions(status.Conditions, field.NewPath("status", "conditions")); len(
		wrong,
	) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("SyncTarget").GroupKind(), asked.Name, wrong)
	}
	return json.Marshal(&status)
}
