package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MoveHook is what runs to its end before a target is left.
//
// +kubebuilder:validation:XValidation:rule="has(self.job) != has(self.webhook)",message="name one of job and webhook"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) >= duration('1s')",message="timeout must be at least 1s"
type MoveHook struct {
	// Name of the hook. It begins the name of its Jobs.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Job runs a Job at the target that is to be left.
	// +optional
	Job *JobHook `json:"job,omitempty"`
	// Webhook is called by the center.
	// +optional
	Webhook *WebhookHook `json:"webhook,omitempty"`
	// Timeout is how long one attempt may take.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// FailurePolicy says what an attempt does that fails or takes too long. With Fail the target is not
	// left, and the hook is tried again after 10 s, then after twice that, up to 5 minutes. With Ignore
	// the move goes on.
	// +kubebuilder:default=Fail
	// +optional
	FailurePolicy HookFailurePolicy `json:"failurePolicy,omitempty"`
}

// HookFailurePolicy says what becomes of a move whose hook fails.
//
// +kubebuilder:validation:Enum=Fail;Ignore
type HookFailurePolicy string

// The policies.
const (
	HookFail   HookFailurePolicy = "Fail"
	HookIgnore HookFailurePolicy = "Ignore"
)

// JobHook is a Job of the space, made as `kubectl create job --from=cronjob/NAME` makes it.
type JobHook struct {
	// Namespace of the CronJob and of its Jobs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// FromCronJob names the CronJob whose jobTemplate is used. Its schedule does not matter: set
	// spec.suspend where it is there for its template alone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	FromCronJob string `json:"fromCronJob"`
}

// WebhookHook is a webhook, which answers with 200 when all is done that is to be done before the
// target is left, with 202 while it is not, and with anything else when it has failed. A redirect is a
// failure.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.service)",message="name one of url and service"
type WebhookHook struct {
	// URL of the webhook. The center calls it where webhooks of spaces may be, which its admin says.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost() != ''",message="must be a URL that begins with https://"
	// +optional
	URL *string `json:"url,omitempty"`
	// Service of the space that the webhook is behind. It is called where its Pods run.
	// +optional
	Service *HookService `json:"service,omitempty"`
	// CABundle is what the certificate of the webhook is verified with, in PEM. Without it the center's
	// own trust counts.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
	// TimeoutSeconds is how long one call may take.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// HookService names a Service.
type HookService struct {
	// Namespace of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Path is where the webhook is.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`
	// Port of the Service.
	// +kubebuilder:default=443
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
}

// HookCall is what a webhook gets as JSON. The header Idempotency-Key has its key.
type HookCall struct {
	metav1.TypeMeta `json:",inline"`
	// Key names this leaving of this target. It is the same for each call about it, also after a
	// failure and when the center was restarted.
	Key string `json:"key"`
	// Hook is the name of the hook, Attempt counts from 1.
	Hook    string `json:"hook"`
	Attempt int    `json:"attempt"`
	// Space and Placement say whose objects leave. Placement is empty for objects that pass from one
	// policy to another.
	Space     string `json:"space"`
	Placement string `json:"placement,omitempty"`
	// Target is left. Targets are where the objects are to be.
	Target  string   `json:"target"`
	Targets []string `json:"targets,omitempty"`
}
