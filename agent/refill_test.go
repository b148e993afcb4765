package agent

import (
	"testing"

	"skerry.dev/skerry/agent/apply"
	"skerry.dev/skerry/tunnel"
)

// A target that was restored from a backup may have what was deleted since.
func TestARestoredTargetIsSearched(t *testing.T) {
	cache := newCacheState(&tunnel.Conditions{})
	rewinding{apply.New(apply.Config{}), &cache}.Rewound(nil)
	select {
	case <-cache.wanted:
	default:
		t.Error("the target is not searched")
	}
}
