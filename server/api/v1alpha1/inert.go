package v1alpha1

// What an object does in its space.
const (
	// LabelInert on an object of a kind that acts in its space (a Role or a binding, a ResourceQuota, a
	// LimitRange, a configuration of webhooks, an admission policy or its binding) says, as "true", that
	// it is only stored there. It acts at those sites alone whose admin allows it.
	LabelInert = "skerry.dev/inert"
)

// Inert reports whether labels say that an object does not act in its space.
func Inert(labels map[string]string) bool { return labels[LabelInert] == "true" }
