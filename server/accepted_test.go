package server_test

import "testing"

// TestWhatIsAccepted drives one center through what users write and what becomes of it: it is
// delivered, or somebody says that it is not.
func TestWhatIsAccepted(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), place)
	c.createSpace("team", "Delete")
	for _, part := range []struct {
		name string
		test func(*testing.T, *center)
	}{
		{"a status that begins anew", statusAnew},
		{"objects of any size", sizes},
		{"what does nothing", doesNothing},
		{"what a cluster fills in", clusterDefaults},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, c) })
	}
}
