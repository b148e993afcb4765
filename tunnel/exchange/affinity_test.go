package exchange

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAffinityHoldsForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Affinity[string, int]
		is := func(caller string, want int) {
			t.Helper()
			if got, known := a.Of(caller); got != want || known != (want != 0) {
				t.Errorf("%s: %d, %v", caller, got, known)
			}
		}
		is("a", 0)
		a.Keep("shop", "a", 1, time.Minute)
		a.Keep("shop", "b", 2, time.Hour)
		time.Sleep(59 * time.Second)
		is("a", 1)
		a.Keep("shop", "a", 3, time.Minute) // each call begins the time anew
		time.Sleep(59 * time.Second)
		is("a", 3)
		time.Sleep(time.Second)
		is("a", 0)
		is("b", 2)
	})
}

// What is over goes first, and there are never more than so many.
func TestAffinityIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Affinity[int, int]
		for i := range 3 * MostKept {
			a.Keep("shop", i, i, time.Hour)
			if len(a.all) > MostKept {
				t.Fatalf("%d callers", len(a.all))
			}
			if got, known := a.Of(i); !known || got != i {
				t.Fatalf("the newest is forgotten: %d, %v", got, known)
			}
		}
		time.Sleep(time.Hour)
		for i := range MostKept {
			a.Keep("shop", -1-i, i, time.Hour)
		}
		if len(a.all) > MostKept {
			t.Errorf("%d callers", len(a.all))
		}
		for i := range MostKept {
			if _, known := a.Of(-1 - i); !known && i > MostKept/2 {
				t.Errorf("caller %d is forgotten for some that are over", i)
				break
			}
		}
	})
}

// A space with any number of callers has no caller of another space forgotten.
func TestAffinityOfOneSpaceCostsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Affinity[int, int]
		for i := range 100 {
			a.Keep("shop", i, i, time.Hour)
		}
		for i := range 3 * MostKept {
			a.Keep("much", 1000+i, i, time.Hour)
			if len(a.all) > MostKept || a.of["shop"]+a.of["much"] != len(a.all) {
				t.Fatalf("%d callers, counted %v", len(a.all), a.of)
			}
		}
		for i := range 100 {
			if _, known := a.Of(i); !known {
				t.Fatalf("caller %d is forgotten", i)
			}
		}
	})
}
