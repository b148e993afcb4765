// Package race has a data race.
package race

import "testing"

func TestRace(t *testing.T) {
	n, done := 0, make(chan struct{})
	go func() { n++; close(done) }()
	n++
	<-done
	t.Log(n)
}
