package storage

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

// A precondition that does not hold is a conflict with the object's name, without a key of the store.
func TestPreconditionsNameNoKey(t *testing.T) {
	for key, want := range map[string]string{
		"/configmaps/ns1/plain":        `configmaps "plain"`,
		"/skerry.dev/placements/px":    `placements.skerry.dev "px"`,
		"/apps.example.com/webs/ns1/w": `webs.apps.example.com "w"`,
	} {
		err := withoutSpace(storage.NewInvalidObjError("/registry"+key, "Precondition failed: UID in precondition: a"), key)
		if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) ||
			!strings.Contains(err.Error(), "UID in precondition: a. It was changed") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
