package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MovePolicy says how objects change their place. What no Placement decides about moves by the
// defaults.
//
// +kubebuilder:validation:XValidation:rule="!has(self.readyTimeout) || duration(self.readyTimeout) >= duration('1s')",message="readyTimeout must be at least 1s"
type MovePolicy struct {
	// Type of a move. MakeBeforeBreak places the objects on the new targets first and takes them
	// off the old ones when they are available on the new. BreakBeforeMake takes them off the old
	// targets first and places them on the new ones when the old have confirmed that they are gone:
	// for what must never run twice.
	// +kubebuilder:default=MakeBeforeBreak
	// +optional
	Type MoveType `json:"type,omitempty"`
	// ReadyTimeout is how long the objects may take to be available on the new targets, or to be
	// gone from the old ones. After that they go back to where they were, and the condition Moving
	// says why. The move is tried again when the objects, the wish or the targets change.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	ReadyTimeout *metav1.Duration `json:"readyTimeout,omitempty"`
}

// MoveType is the order of the two halves of a move.
//
// +kubebuilder:validation:Enum=MakeBeforeBreak;BreakBeforeMake
type MoveType string

// The types of moves.
const (
	MakeBeforeBreak MoveType = "MakeBeforeBreak"
	BreakBeforeMake MoveType = "BreakBeforeMake"
)

// MoveRecord is what a center must know of a move to go on with it, or to leave it given up, after
// a restart.
type MoveRecord struct {
	// From are the targets that the objects were on before the move, To those that they are moved
	// to.
	From []string `json:"from,omitempty"`
	To   []string `json:"to,omitempty"`
	// Left are the targets that a BreakBeforeMake took the objects off.
	// +optional
	Left []string `json:"left,omitempty"`
	// Since is when the present half of the move began; absent while the move is suspended or given
	// up.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// GaveUp is set when the move was given up: a hash of the objects, the wish and the targets at
	// that time. The move is tried again when one of them changes.
	// +optional
	GaveUp string `json:"gaveUp,omitempty"`
	// Absent are the targets of To that had no session when the move was given up. It is tried
	// again when one has.
	// +optional
	Absent []string `json:"absent,omitempty"`
	// Message says why the move was given up.
	// +optional
	Message string `json:"message,omitempty"`
}
