package v1alpha1

// DrainPolicy is how units leave a target that is drained.
type DrainPolicy struct {
	// MaxConcurrent is how many units leave the target at a time, and at most 5 of those that leave
	// drained targets are on their way to one other. The rest wait for a turn: first come those with
	// the most copies elsewhere, then those that may be in two places, small ones, and by name. What
	// leaves without a replacement waits for nothing.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`
	// Jobs says what becomes of what has begun on the target and runs to an end of its own: Jobs, CronJobs
	// whose Jobs run, and Pods that are not restarted. With Wait it stays until it has ended. With Restart it
	// is stopped, and begins anew on another target once this one has confirmed that nothing of it runs there
	// any more; what it has done by then it does again.
	// +kubebuilder:default=Wait
	// +optional
	Jobs DrainJobs `json:"jobs,omitempty"`
}

// DrainJobs is what becomes of what has begun on a target that is drained.
//
// +kubebuilder:validation:Enum=Wait;Restart
type DrainJobs string

// What becomes of it.
const (
	DrainJobsWait    DrainJobs = "Wait"
	DrainJobsRestart DrainJobs = "Restart"
)
