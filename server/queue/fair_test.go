package queue_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/queue"
)

func space(item string) string { return strings.SplitN(item, "/", 2)[0] }

func take(q queue.Queue[string], n int) (out []string) {
	for range n {
		item, _ := q.Get()
		out = append(out, item)
		q.Done(item)
	}
	return out
}

// One owner's thousands do not keep another one waiting.
func TestOwnersAreServedInTurn(t *testing.T) {
	q := queue.NewFair(time.Second, time.Minute, space)
	defer q.ShutDown()
	for _, item := range []string{"a/1", "a/2", "a/3", "a/4", "a/1", "b/1", "c/1", "b/2"} {
		q.Add(item)
	}
	if got, want := take(q, 3), []string{"a/1", "b/1", "c/1"}; !slices.Equal(got, want) {
		t.Errorf("first %v, want %v", got, want)
	}
	q.Add("c/2")
	if got, want := take(q, 5), []string{"a/2", "b/2", "c/2", "a/3", "a/4"}; !slices.Equal(got, want) {
		t.Errorf("then %v, want %v", got, want)
	}
	if q.Len() != 0 {
		t.Errorf("%d are left", q.Len())
	}
}

// Each item comes once, those of an owner in their order, and nobody waits for more than one of each
// other owner.
func TestFairness(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		q := queue.NewFair(time.Second, time.Minute, space)
		lines := map[string][]string{}
		for i := range random.IntN(60) {
			owner := string(rune('a' + random.IntN(1+random.IntN(6))))
			item := owner + "/" + string(rune('A'+i))
			q.Add(item)
			lines[owner] = append(lines[owner], item)
		}
		since, n := map[string]int{}, q.Len()
		for range n {
			item := take(q, 1)[0]
			owner := space(item)
			if lines[owner][0] != item {
				t.Fatalf("%s comes before %s", item, lines[owner][0])
			}
			if lines[owner], since[owner] = lines[owner][1:], 0; len(lines[owner]) == 0 {
				delete(lines, owner)
			}
			for other := range lines {
				if other != owner {
					if since[other]++; since[other] > 7 {
						t.Fatalf("%s waits", other)
					}
				}
			}
		}
		if len(lines) > 0 || q.Len() > 0 {
			t.Fatalf("%v are left", lines)
		}
		q.ShutDown()
	}
}
