package copier

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/volumes"
)

// replicated is a unit with a standby.
type replicated struct {
	*copying
	is volumes.Replica

	mu   sync.Mutex
	lost *volumes.Lost
	away string
	said volumes.Standby
}

func newReplicated(t *testing.T, round func(n int, live bool) (int64, error)) *replicated {
	r := &replicated{copying: newCopying(t, round)}
	r.is = volumes.Replica{Move: r.move, Every: 15 * time.Minute, MaxAge: time.Hour}
	r.is.Claims, r.is.Standby = r.is.Claims[:1], true
	return r
}

func (r *replicated) replicate() {
	is := r.is
	r.c.Replicate(r.ctx, is.Unit, &is, volumes.Word{
		Ends: func() (*volumes.Lost, string) { r.mu.Lock(); defer r.mu.Unlock(); return r.lost, r.away },
		Say:  func(_ volumes.Claim, s volumes.Standby) { r.mu.Lock(); defer r.mu.Unlock(); r.said = s },
	})
}

func (r *replicated) becomes(lost *volumes.Lost, away string) {
	r.mu.Lock()
	r.lost, r.away = lost, away
	r.mu.Unlock()
}

// stands is what the Deployment says of the standby, and how many Pods the movers have.
func (r *replicated) stands(pass time.Duration) (s *volumes.Standby, pods int32) {
	r.t.Helper()
	time.Sleep(pass)
	synctest.Wait()
	for _, side := range r.is.Sides() {
		k := volumes.MoverKey(&r.is.Move, r.is.Claims[0], side)
		d, err := r.AppsV1().Deployments(k.Namespace).Get(context.Background(), k.Name, metav1.GetOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		if pods += *d.Spec.Replicas; side == volumes.SideStandby {
			s = volumes.ParseStandby(d.Annotations[v1alpha1.AnnotationStandby])
		}
	}
	if s == nil {
		r.t.Fatal("nothing is said of the standby")
	}
	return s, pods
}

// ended has the Deployment say that a standby is not replicated.
func (r *replicated) ended(s *volumes.Standby) {
	is := *s
	is.Ended = true
	k := volumes.MoverKey(&r.is.Move, r.is.Claims[0], volumes.SideStandby)
	_, err := r.AppsV1().Deployments(k.Namespace).Patch(context.Background(), k.Name, types.MergePatchType, is.Patch(0),
		metav1.PatchOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
}

// refuses has the claim say why its target does not take it, or that it does.
func (r *replicated) refuses(why string) {
	c := r.is.Claims[0]
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name},
		Status: corev1.PersistentVolumeClaimStatus{Conditions: []corev1.PersistentVolumeClaimCondition{
			{Type: v1alpha1.ConditionObjectSynced, Status: corev1.ConditionFalse, Message: why}}}}
	if why == "" {
		claim.Status.Conditions[0].Status = corev1.ConditionTrue
	}
	claims := r.CoreV1().PersistentVolumeClaims(c.Namespace)
	_, err := claims.Update(context.Background(), claim, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = claims.Create(context.Background(), claim, metav1.CreateOptions{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// received are the commands of receivers and settlers since it was asked last.
func (r *replicated) received() (out []string) {
	r.copying.mu.Lock()
	defer r.copying.mu.Unlock()
	for _, c := range r.commands {
		if !strings.HasPrefix(c, "send") {
			out = append(out, c)
		}
	}
	r.commands = nil
	return out
}

// Rounds are made one after the other, and the movers rest between them. What is there is known after a restart.
func TestRoundsOfAStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicated(t, func(int, bool) (int64, error) { time.Sleep(10 * time.Second); return 100, nil })
		defer func() { r.end() }()
		began := time.Now().UTC()
		r.replicate()
		s, pods := r.stands(time.Minute)
		if pods != 0 || s.Last == nil || !s.Last.At.Equal(began) || s.Last.Sent != 100 || !s.Next.Equal(began.Add(15*time.Minute)) {
			t.Fatalf("%d Pods, %+v, last %+v", pods, s, s.Last)
		}
		first := began.Format(time.RFC3339)
		if got := r.received(); len(got) != 1 || got[0] != "receive --standby "+first {
			t.Errorf("the first round: %q", got)
		}
		r.restart()
		r.ended(s)
		r.replicate()
		if s, _ := r.stands(10 * time.Minute); !s.Last.At.Equal(began) || s.Ended {
			t.Errorf("a restart has made a round: %+v", s.Last)
		}
		s, _ = r.stands(5 * time.Minute)
		if got := r.received(); len(got) != 1 || !strings.HasSuffix(got[0], " --whole "+first) || !s.Last.At.After(began) {
			t.Errorf("the next round: %q, %+v", got, s.Last)
		}
		if rounds, bytes := r.c.Sent(); rounds != 1 || bytes != 100 {
			t.Errorf("%d rounds, %d bytes", rounds, bytes)
		}
	})
}

// Movers that do not run in time rest, and run again: what their target has to make for them is made with that.
func TestMoversThatDoNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicated(t, func(int, bool) (int64, error) { return 1, nil })
		defer func() { r.end() }()
		r.replicate()
		r.stands(time.Minute)
		r.copying.mu.Lock()
		r.podless = true
		r.copying.mu.Unlock()
		s, _ := r.stands(17 * time.Minute)
		if !strings.Contains(s.Problem, "no round in 1m0s: waits for Deployment copy-data") || s.Last == nil {
			t.Errorf("%+v", s)
		}
		r.refuses("at b: exceeded quota")
		if s, _ := r.stands(17 * time.Minute); !strings.HasSuffix(s.Problem, ": PersistentVolumeClaim data: at b: exceeded quota") {
			t.Errorf("%+v", s)
		}
		r.refuses("")
		r.copying.mu.Lock()
		r.podless = false
		r.copying.mu.Unlock()
		if s, pods := r.stands(2 * time.Minute); s.Problem != "" || pods != 0 {
			t.Errorf("%d Pods, %+v", pods, s)
		}
	})
}

// A round that fails is made again, and the last one stays what is said.
func TestARoundThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		fails.Store(true)
		r := newReplicated(t, func(n int, _ bool) (int64, error) {
			if n > 1 && fails.Load() {
				return 0, errors.New("broken off")
			}
			return 1, nil
		})
		defer func() { r.end() }()
		began := time.Now().UTC()
		r.replicate()
		s, _ := r.stands(20 * time.Minute)
		if s.Problem == "" || !s.Last.At.Equal(began) || !s.Next.IsZero() {
			t.Errorf("%+v", s)
		}
		fails.Store(false)
		if s, pods := r.stands(time.Minute); s.Problem != "" || !s.Last.At.After(began) || pods != 0 {
			t.Errorf("%d Pods, %+v", pods, s)
		}
	})
}

// While the source is away nothing is copied; it is said since when. A round that runs is cut.
func TestTheSourceIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicated(t, func(n int, _ bool) (int64, error) {
			if n > 1 {
				time.Sleep(time.Hour)
			}
			return 1, nil
		})
		defer func() { r.end() }()
		began := time.Now().UTC()
		r.replicate()
		r.stands(16 * time.Minute) // the second round runs
		lost := &volumes.Lost{Since: time.Now().UTC(), Why: "it has no lease"}
		r.becomes(lost, "")
		s, pods := r.stands(2 * time.Hour)
		if pods != 0 || s.Lost == nil || !s.Lost.Since.Equal(lost.Since) || !s.Last.At.Equal(began) {
			t.Fatalf("%d Pods, %+v", pods, s)
		}
		if !strings.Contains(r.said.Says(), "16m0s before paris went silent; it has no lease") {
			t.Error(r.said.Says())
		}
		r.received()

		// It is settled, and what the volume says counts.
		r.settled = `{"at":"` + began.Add(-time.Second).Format(time.RFC3339) + `"}`
		r.is.Settles = true
		r.replicate()
		if s, _ := r.stands(time.Minute); s.Settled || s.Released || !strings.Contains(s.Problem, "it is another volume") {
			t.Fatalf("another volume is taken: %+v", s)
		}
		later := began.Add(15 * time.Minute)
		r.copying.mu.Lock()
		r.settled = `{"at":"` + later.Format(time.RFC3339) + `","files":7}`
		r.copying.mu.Unlock()
		r.received()
		s, pods = r.stands(time.Minute)
		if !s.Settled || !s.Released || pods != 0 || !s.Last.At.Equal(later) || s.Last.Files != 7 {
			t.Fatalf("%d Pods, %+v, %+v", pods, s, s.Last)
		}
		if got := strings.Join(r.received(), ", "); got != "settle, settle --release" {
			t.Error(got)
		}

		// The unit did not go: rounds go on, and say first that it is not settled any more.
		r.is.Settles = false
		r.becomes(nil, "")
		r.replicate()
		if s, _ := r.stands(20 * time.Minute); s.Settled || s.Released || s.Lost != nil {
			t.Errorf("%+v", s)
		}
	})
}

// Two units have rounds at one target one after the other.
func TestOneRoundAtATargetAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		free, err := c.alone(t.Context(), "shop", "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.alone(ctx, "desk", "c", "b"); err == nil {
			t.Fatal("two at once at b")
		}
		free()
		other, err := c.alone(t.Context(), "desk", "b", "c")
		if err != nil {
			t.Fatal(err)
		}
		other()
	})
}

// A round that never ends, and a space with many units, keep the rounds of another space from a target for a while at
// most.
func TestNoSpaceKeepsATargetToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var many sync.WaitGroup
		for range 50 {
			many.Go(func() {
				if free, err := c.alone(ctx, "much", "a", "b"); err == nil {
					<-ctx.Done() // it never ends
					free()
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		for _, space := range []string{"desk", "shop"} {
			free, err := c.alone(ctx, space, "c", "a")
			if err != nil {
				t.Fatal(err)
			}
			free()
		}
		if waited := time.Since(began); waited < aloneTime || waited > aloneTime+time.Second {
			t.Errorf("its turn came after %s", waited)
		}
		cancel()
		many.Wait()
		if n := len(c.turns); n != 0 {
			t.Errorf("%d turns are remembered that nobody has or wants", n)
		}
	})
}
