package admission

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	coreconv "k8s.io/kubernetes/pkg/apis/core/v1"
	psadmission "k8s.io/pod-security-admission/admission"
	psload "k8s.io/pod-security-admission/admission/api/load"
	psapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	"k8s.io/pod-security-admission/policy"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/storage"
)

// PodSecurity is the admission plugin of the Pod Security Standards: Kubernetes' own rules, by the
// labels of the request's namespace and space. It refuses the Pods that users make, and warns of
// workloads whose Pods the target will refuse: their namespace has the same labels there, and its
// owner may allow less.
type PodSecurity struct {
	rules      psadmission.Admission
	namespaces *Lifecycle
	Pods       rest.Lister
	// Sites says what sites allow; nil warns of none of them.
	Sites SiteLevels
}

// NewPodSecurity returns the plugin. It reads namespaces as l does. Pods must be set before the
// first request.
func NewPodSecurity(l *Lifecycle) (*PodSecurity, error) {
	config, err := psload.LoadFromData(nil)
	if err != nil {
		return nil, fmt.Errorf("pod security: %w", err)
	}
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("pod security: %w", err)
	}
	p := &PodSecurity{namespaces: l}
	p.rules = psadmission.Admission{
		Configuration:    config,
		Evaluator:        checks,
		Metrics:          metrics.NewPrometheusRecorder(psapi.GetAPIVersion()),
		PodSpecExtractor: psadmission.DefaultPodSpecExtractor{},
		NamespaceGetter:  p,
		PodLister:        p,
	}
	return p, errors.Join(p.rules.CompleteConfiguration(), p.rules.ValidateConfiguration())
}

// Handles implements admission.Interface.
func (*PodSecurity) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidationInterface.
func (p *PodSecurity) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	kind := a.GetResource().GroupResource()
	if request.FromCenter(ctx) || kind != api.Resource("namespaces") && !p.rules.PodSpecExtractor.HasPodSpec(kind) {
		return nil
	}
	result := p.rules.Validate(ctx, secured{a})
	for _, w := range result.Warnings {
		warning.AddWarning(ctx, "", w)
	}
	for name, v := range result.AuditAnnotations {
		audit.AddAuditAnnotation(ctx, psapi.AuditAnnotationPrefix+name, v)
	}
	if result.Allowed {
		return p.warnSites(ctx, a)
	}
	refused := admission.NewForbidden(a, errors.New("not allowed by the Pod Security Standard of the namespace"))
	var s *apierrors.StatusError
	if errors.As(refused, &s) && result.Result != nil {
		why := result.Result.DeepCopy()
		why.Status = s.ErrStatus.Status
		s.ErrStatus = *why
	}
	return refused
}

// GetNamespace implements psadmission.NamespaceGetter.
func (p *PodSecurity) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	ns, err := p.namespaces.get(ctx, name, "0")
	if apierrors.IsNotFound(err) { // the cache may be behind
		ns, err = p.namespaces.get(ctx, name, "")
	}
	if err != nil {
		return nil, err
	}
	return &corev1.Namespace{ObjectMeta: ns.ObjectMeta}, nil
}

// ListPods implements psadmission.PodLister.
func (p *PodSecurity) ListPods(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
	list, err := storage.FromCache(apirequest.WithNamespace(ctx, namespace), p.Pods)
	if err != nil {
		return nil, err
	}
	items := list.(*api.PodList).Items
	out := make([]*corev1.Pod, len(items))
	for i := range items {
		out[i] = &corev1.Pod{}
		if err := coreconv.Convert_core_Pod_To_v1_Pod(&items[i], out[i], nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// secured are the attributes of a request in the form in which the rules ask for them: objects are
// of their version then.
type secured struct{ admission.Attributes }

// GetObject implements psapi.Attributes.
func (s secured) GetObject() (runtime.Object, error) { return s.versioned(s.Attributes.GetObject()) }

// GetOldObject implements psapi.Attributes.
func (s secured) GetOldObject() (runtime.Object, error) {
	return s.versioned(s.Attributes.GetOldObject())
}

// GetOperation implements psapi.Attributes.
func (s secured) GetOperation() admissionv1.Operation {
	return admissionv1.Operation(s.Attributes.GetOperation())
}

// GetUserName implements psapi.Attributes.
func (s secured) GetUserName() string { return s.GetUserInfo().GetName() }

func (s secured) versioned(o runtime.Object) (runtime.Object, error) {
	return legacyscheme.Scheme.ConvertToVersion(o, s.GetResource().GroupVersion())
}
