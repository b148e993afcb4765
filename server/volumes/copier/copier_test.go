package copier

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/podexec"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// copying is a Copier in a space with an app that mounts claims "data" and "logs".
type copying struct {
	*fakeSpace
	c    *Copier
	move volumes.Move
	ctx  context.Context
	end  func()
}

func newCopying(t *testing.T, round func(n int, live bool) (int64, error)) *copying {
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "web"}}
	}
	app := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "web"}}
	f := &fakeSpace{Clientset: fake.NewClientset(claim("data"), claim("logs"), app), t: t, now: map[string]int{},
		round: round}
	var err error
	f.rest, err = rest.RESTClientForConfigAndClient(&rest.Config{Host: "http://space", APIPath: "/api",
		ContentConfig: rest.ContentConfig{GroupVersion: &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion()}}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	user := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "web", Name: "app"}
	w := &copying{fakeSpace: f, move: volumes.Move{Space: "shop", Unit: "unit", From: "paris", FromUID: "p", To: "oslo",
		ToUID: "o", Claims: []volumes.Claim{
			{Namespace: "web", Name: "data", UID: "1", User: user, UserVersion: "apps/v1"},
			{Namespace: "web", Name: "logs", UID: "2", User: user, UserVersion: "apps/v1"}}}}
	w.restart()
	return w
}

// restart is a new process.
func (w *copying) restart() {
	if w.c != nil {
		w.end()
	}
	ctx, stop := context.WithCancel(context.Background())
	w.ctx = ctx
	w.c = New(Config{API: w.fakeSpace, Image: "skerry", Log: slog.New(slog.DiscardHandler),
		Client: func(string) (kubernetes.Interface, error) { return w.fakeSpace, nil },
		Exec:   func(string) podexec.Executor { return w.exec }})
	w.end = func() { stop(); w.c.Wait() }
	w.runs = nil
}

// keep says what is wanted, lets time pass, and returns how far the copy is then.
func (w *copying) keep(left int64, pass time.Duration) volumes.State {
	w.move.Left = left
	move := w.move
	w.c.Keep(w.ctx, move.Unit, &move, func() {})
	time.Sleep(pass)
	synctest.Wait()
	return w.c.State(&move)
}

// ran are the rounds since it was asked last, a claim each.
func (w *copying) ran() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(w.runs, ", ")
	w.runs = nil
	return out
}

func (w *copying) expect(what, want string) {
	w.t.Helper()
	if ran := w.ran(); ran != want {
		w.t.Errorf("%s: ran %q, want %q", what, ran, want)
	}
}

// Rounds are made beside the app until the rest is little, then one a minute. The last one is made when the app has
// stopped, once, and is worth nothing when the app has run again.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := map[int]int64{1: 100 << 20, 2: 1 << 20, 3: 50 << 20}
		w := newCopying(t, func(n int, _ bool) (int64, error) {
			time.Sleep(time.Duration(sent[n]>>20) * 100 * time.Millisecond)
			return sent[n], nil
		})
		defer func() { w.end() }()
		if s := w.keep(0, time.Second); s.Copied != binding.CopiedNot || !strings.Contains(s.Text, "data") {
			t.Errorf("in the first round: %+v", s)
		}
		w.expect("in the first round", "data live=true")
		if s := w.keep(0, 15*time.Second); s.Copied != binding.CopiedNearly {
			t.Errorf("after two rounds: %+v", s)
		}
		w.expect("the rest is not little after the first", "logs live=true, data live=true, logs live=true")
		if s := w.keep(0, 50*time.Second); s.Copied != binding.CopiedNearly {
			t.Errorf("while it is awaited: %+v", s)
		}
		w.expect("nothing has changed", "")
		w.keep(0, 30*time.Second)
		w.expect("a minute later", "data live=true, logs live=true")
		if s := w.keep(7, time.Second); s.Copied != binding.CopiedWhole {
			t.Errorf("after the last round: %+v", s)
		}
		w.expect("the last round", "data live=false, logs live=false")
		if s := w.keep(7, time.Hour); s.Copied != binding.CopiedWhole {
			t.Errorf("an hour later: %+v", s)
		}
		w.expect("all is compared", "")
		if s := w.keep(0, time.Second); s.Copied == binding.CopiedWhole {
			t.Errorf("it runs again: %+v", s)
		}
		w.expect("it runs again", "data live=true, logs live=true")
		if s := w.keep(9, time.Second); s.Copied != binding.CopiedWhole {
			t.Errorf("it has stopped again: %+v", s)
		}
		w.expect("it has stopped again", "data live=false, logs live=false")
	})
}

// What one Pod alone may mount is copied while nothing runs. Its mover beside the app has no Pod until then, nor any more
// when the app runs again. What else the app has is copied before.
func TestAVolumeOfOnePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCopying(t, func(int, bool) (int64, error) { return 1, nil })
		defer func() { w.end() }()
		one := func(name string) {
			claim, err := w.CoreV1().PersistentVolumeClaims("web").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			if _, err := w.CoreV1().PersistentVolumeClaims("web").Update(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		runs := func(side volumes.Side, claim int) bool {
			k := volumes.MoverKey(&w.move, w.move.Claims[claim], side)
			_, err := w.CoreV1().Pods("web").Get(t.Context(), k.Name+"-pod", metav1.GetOptions{})
			return err == nil
		}
		one("data")
		if s := w.keep(0, time.Second); s.Copied != binding.CopiedNearly || !strings.Contains(s.Text, "; for one Pod alone (ReadWriteOncePod), and copied while nothing runs: data") {
			t.Errorf("beside the app: %+v", s)
		}
		w.expect("beside the app", "logs live=true")
		if runs(volumes.SideFrom, 0) || !runs(volumes.SideTo, 0) || !runs(volumes.SideFrom, 1) {
			t.Error("a mover keeps the app from its volume, or another one does not run")
		}
		if s := w.keep(7, time.Second); s.Copied != binding.CopiedWhole || !runs(volumes.SideFrom, 0) {
			t.Errorf("while nothing runs: %+v", s)
		}
		w.expect("while nothing runs", "data live=false, logs live=false")
		w.keep(0, time.Second)
		w.expect("it runs again", "logs live=true")
		if runs(volumes.SideFrom, 0) {
			t.Error("its mover keeps the app from its volume")
		}
		one("logs")
		w.restart()
		if s := w.keep(0, time.Second); s.Copied != binding.CopiedNearly || !strings.HasSuffix(s.Text, "nothing runs: data, logs") {
			t.Errorf("all are for one Pod: %+v", s)
		}
		w.expect("all are for one Pod", "")
		if s := w.keep(8, time.Second); s.Copied != binding.CopiedWhole {
			t.Errorf("while nothing runs: %+v", s)
		}
		w.expect("all at once", "data live=false, logs live=false")
	})
}

// Nothing stops for a round that would take most of the time that nothing may run. It is said, and tried again.
func TestAPauseThatWouldBeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := 4 * time.Minute
		w := newCopying(t, func(int, bool) (int64, error) {
			time.Sleep(takes) // for each of two claims
			return 1, nil
		})
		defer func() { w.end() }()
		w.move.Within = 10 * time.Minute
		if s := w.keep(0, time.Hour); s.Copied != binding.CopiedNot || !strings.Contains(s.Text, "a round takes 8m0s") ||
			!strings.Contains(s.Text, "(10m0s)") {
			t.Errorf("%+v", s)
		}
		w.move.Within = 20 * time.Minute // whoever reads that says so
		if s := w.keep(0, 13*time.Minute); s.Copied != binding.CopiedNearly || !strings.Contains(s.Text, "about 8m0s") {
			t.Errorf("with more time: %+v", s)
		}
		takes = time.Second
		w.move.Within = 10 * time.Minute
		if s := w.keep(0, 10*time.Minute); s.Copied != binding.CopiedNearly || !strings.Contains(s.Text, "about 2s") {
			t.Errorf("the app writes less: %+v", s)
		}
	})
}

// A round beside the app ends when the app has stopped, and the last one begins when its programs have ended.
func TestLastRoundDoesNotWaitForOneBesideTheApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCopying(t, func(_ int, live bool) (int64, error) {
			if live {
				time.Sleep(3 * time.Second) // it takes a while to notice
			}
			return 1 << 30, nil
		})
		defer func() { w.end() }()
		w.keep(0, time.Second)
		w.expect("in a round", "data live=true")
		if s := w.keep(5, 3*time.Second); s.Copied != binding.CopiedWhole {
			t.Errorf("after the last round: %+v", s)
		}
		w.expect("the last round", "data live=false, logs live=false")
	})
}

// What fails is tried again, later and later, and said. A new word is not waited for.
func TestFailedRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := errors.New("the link is cut")
		w := newCopying(t, func(int, bool) (int64, error) { return 0, fails })
		defer func() { w.end() }()
		s := w.keep(0, 500*time.Millisecond)
		if s.Copied != binding.CopiedNot || !strings.Contains(s.Text, "copy data from paris to oslo") ||
			!strings.Contains(s.Text, "the link is cut") {
			t.Errorf("%+v", s)
		}
		w.ran()
		w.keep(0, 10*time.Minute)
		if n := strings.Count(w.ran(), "live"); n < 15 || n > 25 {
			t.Errorf("tried %d times in ten minutes", n)
		}
		fails = nil
		if s := w.keep(3, 500*time.Millisecond); s.Copied != binding.CopiedWhole {
			t.Errorf("it does not fail any more: %+v", s)
		}
	})
}

// A new process knows nothing: it has the movers that are there, and compares anew.
func TestCopyAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCopying(t, func(int, bool) (int64, error) { return 1, nil })
		defer func() { w.end() }()
		if s := w.keep(4, time.Second); s.Copied != binding.CopiedWhole {
			t.Fatalf("%+v", s)
		}
		w.restart()
		if s := w.c.State(&w.move); s.Copied != binding.CopiedNot {
			t.Errorf("before anything was compared: %+v", s)
		}
		if s := w.keep(4, time.Second); s.Copied != binding.CopiedWhole {
			t.Errorf("%+v", s)
		}
		w.expect("anew", "data live=false, logs live=false")
		movers, err := w.AppsV1().Deployments("web").List(t.Context(), metav1.ListOptions{
			LabelSelector: "app.kubernetes.io/component=" + volumes.Component})
		if err != nil || len(movers.Items) != 4 {
			t.Errorf("%d movers, %v", len(movers.Items), err)
		}

		// What was copied before is not left out because it is not known any more.
		w.restart()
		w.move.Claims = w.move.Claims[:1]
		if s := w.keep(4, time.Second); s.Copied == binding.CopiedWhole || !strings.Contains(s.Text, "does not show the claim") {
			t.Errorf("one claim is not known any more: %+v", s)
		}
		w.expect("one claim is not known any more", "")
	})
}

// A move of the other direction is another one, and a mover that only kept a volume runs again.
func TestAnotherMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCopying(t, func(int, bool) (int64, error) { return 1, nil })
		defer func() { w.end() }()
		w.keep(4, time.Second)
		k := volumes.MoverKey(&w.move, w.move.Claims[0], volumes.SideFrom)
		kept := volumes.Keeper(time.Now())
		if _, err := w.AppsV1().Deployments("web").Patch(t.Context(), k.Name, types.MergePatchType, kept,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := w.CoreV1().Pods("web").Delete(t.Context(), k.Name+"-pod", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		back := w.move
		back.From, back.FromUID, back.To, back.ToUID = back.To, back.ToUID, back.From, back.FromUID
		there := w.move
		w.ran()
		w.move = back
		if s := w.keep(0, time.Second); s.Copied != binding.CopiedNearly {
			t.Errorf("the way back: %+v", s)
		}
		if s := w.c.State(&there); s.Copied != binding.CopiedNot {
			t.Errorf("of the move that is over: %+v", s)
		}
		w.expect("the way back", "data live=true, logs live=true")
		w.move = there
		if s := w.keep(0, time.Second); s.Copied != binding.CopiedNearly || w.woken != 1 {
			t.Errorf("there again: %+v, %d movers were woken", s, w.woken)
		}
		w.c.Keep(w.ctx, w.move.Unit, nil, nil)
		synctest.Wait()
		w.ran()
		time.Sleep(time.Hour)
		w.expect("nothing is wanted", "")
	})
}

// A relay may run a mover on more than one of its targets. Then there are as many volumes, and none of them is taken for
// the one.
func TestAMoverThatRunsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCopying(t, func(int, bool) (int64, error) { return 1, nil })
		defer func() { w.end() }()
		w.keep(0, time.Second)
		pods := w.CoreV1().Pods("web")
		k := volumes.MoverKey(&w.move, w.move.Claims[0], volumes.SideTo)
		second, err := pods.Get(t.Context(), k.Name+"-pod", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		second.Name, second.ResourceVersion = "second", ""
		if second, err = pods.Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.ran()
		if s := w.keep(4, time.Second); s.Copied == binding.CopiedWhole || !strings.Contains(s.Text, "runs 2 times at oslo") {
			t.Errorf("%+v", s)
		}
		w.expect("it runs twice", "")
		second.Status.Phase = corev1.PodFailed
		if _, err := pods.UpdateStatus(t.Context(), second, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if s := w.keep(4, time.Minute); s.Copied != binding.CopiedWhole {
			t.Errorf("one of both has ended: %+v", s)
		}
	})
}
