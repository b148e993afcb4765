package space

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestForeign(t *testing.T) {
	got := foreign([]string{"foregroundDeletion", "orphan", "kubernetes", "kubernetes.io/pvc-protection",
		"customresourcecleanup.apiextensions.k8s.io", "skerry.dev/held", "batch.kubernetes.io/job-tracking",
		"example.com/bucket", "finalizer.db.example.com"})
	if !slices.Equal(got, []string{"example.com/bucket", "finalizer.db.example.com"}) {
		t.Errorf("%v", got)
	}
}

// An Event names what it has room for, and how many there are.
func TestLeaksText(t *testing.T) {
	one := leak{"buckets.example.com", "app", "photos", []string{"example.com/bucket"}}
	if text := leaksText([]leak{one}); !strings.HasSuffix(text, "stays: buckets.example.com app/photos (example.com/bucket)") ||
		!strings.HasPrefix(text, "one object was") {
		t.Error(text)
	}
	many := []leak{}
	for i := range 100 {
		many = append(many, leak{"buckets.example.com", "", fmt.Sprint("photos-", i), []string{"example.com/bucket"}})
	}
	if text := leaksText(many); len(text) > maxEventText || !strings.HasPrefix(text, "100 objects") ||
		!strings.HasSuffix(text, " more, which the center's log names") {
		t.Errorf("%d: %s", len(text), text)
	}
}
