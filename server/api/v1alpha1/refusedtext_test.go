package v1alpha1

import "testing"

func TestRefusedText(t *testing.T) {
	for want, s := range map[string]SyncTargetStatus{
		"1 of 9 objects": {Refused: 1, Objects: 9}, "9 of 9 objects": {Refused: 9, Objects: 9},
		"1 object": {Refused: 1}, "3 objects": {Refused: 3, Objects: 2},
	} {
		if is := s.RefusedText(); is != want {
			t.Errorf("%q, want %q", is, want)
		}
	}
}
