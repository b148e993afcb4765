package lease

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// run takes some steps in a world of its own.
func run(t *testing.T, seed uint64, steps int, b bugs) (moves int) {
	w := newWorld(t, seed, b, 1)
	for range steps {
		w.step()
	}
	return w.moves
}

// modelSteps is how many steps the model takes; SKERRY_MODEL_STEPS takes more.
const modelSteps = 200_000

const stepsOfWorld = 2_000

func TestNothingRunsTwice(t *testing.T) {
	steps := modelSteps
	if s := os.Getenv("SKERRY_MODEL_STEPS"); s != "" {
		var err error
		if steps, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	moves := 0
	for seed := range uint64(3) {
		slow := newWorld(t, seed, bugs{}, 60)
		for range 60 * stepsOfWorld / 4 {
			slow.step()
		}
	}
	for seed := range steps / stepsOfWorld {
		moves += run(t, uint64(seed), stepsOfWorld, bugs{})
	}
	t.Logf("%d steps, %d moves", steps, moves)
	if moves < steps/2_000 {
		t.Errorf("only %d moves in %d steps: the model tests too little", moves, steps)
	}
}

// TestTheModelSees breaks one rule at a time: the invariant has to find each. The search begins with a
// world that is known to find it.
func TestTheModelSees(t *testing.T) {
	for name, c := range map[string]struct {
		bugs
		from uint64
	}{
		"a clock that stops in suspend":          {bugs{Monotonic: true}, 0},
		"counting from the receipt of an answer": {bugs{Receipt: true}, 0},
		"no grace for what stops":                {bugs{NoGrace: true}, 0},
		"no allowance for drift":                 {bugs{NoDrift: true}, 295},
		"a relay that grants more than it has":   {bugs{Generous: true}, 0},
		"a new leader that counts from old time": {bugs{OldTime: true}, 0},
		"a reboot that counts as nothing":        {bugs{ForgetsReboot: true}, 0},
		"a site that starts before it knows":     {bugs{Hasty: true}, 0},
		"a promise that is not recorded before":  {bugs{Unrecorded: true}, 2283},
		"counting on what the site has not said": {bugs{Unconfirmed: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3_000) {
				if found(t, c.from+seed, c.bugs) {
					return
				}
			}
			t.Error("it is not found")
		})
	}
}

func found(t *testing.T, seed uint64, b bugs) bool {
	slow := time.Duration(1)
	if b.NoDrift {
		slow = 60 // 1 % of half a minute is less than what the site is early
	}
	w := newWorld(t, seed, b, slow)
	w.fatal = func(string) { w.broken = true }
	for range int(slow) * stepsOfWorld {
		if w.step(); w.broken {
			return true
		}
	}
	return false
}
