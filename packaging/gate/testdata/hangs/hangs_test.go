// Package hangs has a test that does not end.
package hangs

import "testing"

func TestHangs(*testing.T) { select {} }
