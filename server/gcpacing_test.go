package server

import "testing"

// The heap of a calm center may grow little, that of a busy one as much as it was started with.
func TestHeapGrowsWithWhatIsAllocated(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		rate float64
		live uint64
		want int
	}{
		{0, 0, calmPercent},
		{0, 100 * mib, calmPercent},
		{1 * mib / 2, 100 * mib, calmPercent},
		{1 * mib, 100 * mib, 15},
		{2 * mib, 100 * mib, 30},
		{3 * mib, 100 * mib, 45},
		{100 * mib, 100 * mib, 50},
		{1 * mib, 0, 50},
	} {
		if got := percentage(c.rate, c.live, 50); got != c.want {
			t.Errorf("%.0f bytes a second with %d in use: %d %%, want %d", c.rate, c.live, got, c.want)
		}
	}
}

// percent is by how much a heap may grow, in place of the runtime's.
type percent int

func (p *percent) put(n int) int {
	before := *p
	*p = percent(n)
	return int(before)
}

// A calm heap gets its room right before a change goes to many targets, not a second later; a few
// targets need none, and what GOGC says stays.
func TestManyTargetsMakeRoomAtOnce(t *testing.T) {
	t.Setenv("GOGC", "")
	inForce := percent(50)
	var gc pacing
	gc.spread(100_000) // nothing is known yet
	room := uint64(10 << 20)
	gc.begin(inForce.put, func() uint64 { return room })
	gc.rate = 0
	gc.tick(gc.last)
	if inForce != calmPercent {
		t.Fatalf("a calm heap may grow by %d %%, want %d", inForce, calmPercent)
	}
	gc.spread(manyTargets - 1)
	if inForce != calmPercent {
		t.Errorf("a change on few targets lets the heap grow by %d %%", inForce)
	}
	gc.spread(100_000)
	if inForce != 50 {
		t.Errorf("a change on many targets lets the heap grow by %d %%, want 50", inForce)
	}
	if gc.tick(gc.last + gc.wide) {
		t.Error("the heap is collected while the change goes out")
	}
	if !gc.tick(gc.last) {
		t.Error("the heap is not collected for the next change on so many targets")
	}
	if gc.tick(gc.last) {
		t.Error("the heap is collected again")
	}
	if gc.spread(manyTargets); gc.tick(gc.last) {
		t.Error("the heap is collected although it has room for the next change")
	}
	t.Setenv("GOGC", "70")
	inForce = 70
	var fixed pacing
	fixed.begin(inForce.put, func() uint64 { return 0 })
	fixed.tick(fixed.last)
	if fixed.spread(100_000); fixed.tick(fixed.last) {
		t.Error("GOGC says when the heap is collected, and it is collected")
	}
	if inForce != 70 {
		t.Errorf("GOGC says 70 %%, it is %d", inForce)
	}
}

// While sessions come in a crowd the heap is collected early, from the moment on when they are one,
// and for a while after the last; a few change nothing.
func TestCrowdKeepsTheHeapDense(t *testing.T) {
	t.Setenv("GOGC", "")
	inForce := percent(50)
	var gc pacing
	gc.arrives() // nothing is known yet
	gc.begin(inForce.put, func() uint64 { return 0 })
	busy := func(seconds int) {
		for range seconds {
			gc.tick(gc.last + 1<<32)
		}
	}
	busy(1)
	for range 2 * crowd {
		for range crowd - 1 {
			gc.arrives()
		}
		busy(1)
	}
	if inForce != 50 {
		t.Fatalf("a busy heap to which few come may grow by %d %%, want 50", inForce)
	}
	for range crowd {
		gc.arrives()
	}
	if inForce != crowdPercent {
		t.Fatalf("a busy heap may grow by %d %% when a crowd comes, want %d", inForce, crowdPercent)
	}
	busy(crowdTime)
	if inForce != crowdPercent {
		t.Errorf("a busy heap may grow by %d %% when a crowd has just come, want %d", inForce, crowdPercent)
	}
	busy(1)
	if inForce != 50 {
		t.Errorf("a busy heap may grow by %d %% when the crowd is there, want 50", inForce)
	}
}
