package copier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/podexec"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/output"
)

// beginTime is how long the movers of a round may take to run.
const beginTime = time.Minute

// watchEvery is how often it is looked whether a target is away, which costs no request.
const watchEvery = 2 * time.Second

// Replicate has a unit have a standby until ctx ends, or settles the one that it has, and nothing else for it; nil ends
// that.
func (c *Copier) Replicate(ctx context.Context, unit binding.UnitID, is *volumes.Replica, word volumes.Word) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.replicas[unit]
	if now != nil && is != nil && reflect.DeepEqual(now.is, *is) {
		return
	}
	if now != nil {
		now.stop()
		delete(c.replicas, unit)
	}
	if is == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	r := &replicating{is: *is, word: word, of: map[string]*standby{},
		moving: moving{c: c, stop: stop, wake: func() {}, changed: make(chan struct{}, 1)}}
	if now != nil {
		r.before = now.ended
	}
	r.wake = r.waits
	r.ended = make(chan struct{})
	c.replicas[unit] = r
	c.running.Go(func() {
		defer close(r.ended)
		if r.before != nil {
			<-r.before // two never run in one Pod
		}
		r.run(ctx)
	})
}

// replicating is a unit with a standby.
type replicating struct {
	moving
	is            volumes.Replica
	word          volumes.Word
	before, ended chan struct{}
	of            map[string]*standby // by the namespace and name of the claim
}

// standby is that of one claim.
type standby struct {
	key     store.Key // of the Deployment that keeps it
	claim   volumes.Claim
	is      volumes.Standby
	written string // what the Deployment says
}

func nameOf(c volumes.Claim) string { return c.Namespace + "/" + c.Name }

var errAway = errors.New("is away")

func (r *replicating) run(ctx context.Context) {
	for failed := 0; ctx.Err() == nil; {
		wait, err := r.step(ctx)
		if err != nil && ctx.Err() == nil {
			wait = min(firstPause<<min(failed, 8), mostPause)
			failed++
			r.problem(ctx, err)
		} else {
			failed = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// waits says what is waited for before a round.
func (r *replicating) waits() {
	r.mu.Lock()
	text := r.text
	r.mu.Unlock()
	for _, s := range r.of {
		now := s.is
		now.Doing = text
		r.word.Say(s.claim, now)
	}
}

// problem says why there is no newer round.
func (r *replicating) problem(ctx context.Context, why error) {
	if !errors.Is(why, errAway) {
		r.c.cfg.Log.Warn("replicate the volumes of a unit", "unit", string(r.is.Unit), "err", why)
	}
	if len(r.of) == 0 { // it is not known yet which there are
		for _, c := range r.is.Claims {
			if c.Templates {
				c.Name, c.Made = "", &store.MoverClaim{} // what is said of each claim takes its place
			}
			r.word.Say(c, volumes.Standby{Claim: c.Name, Source: r.is.From, Target: r.is.To, Problem: why.Error()})
		}
	}
	r.each(func(s *standby) { s.is.Problem, s.is.Next = why.Error(), time.Time{} })
	r.tell(ctx, -1)
}

func (r *replicating) each(do func(*standby)) {
	for _, s := range r.of {
		do(s)
	}
}

// step does what is due, and returns after how long to look again.
func (r *replicating) step(ctx context.Context) (time.Duration, error) {
	client, err := r.c.cfg.Client(r.is.Space)
	if err != nil {
		return 0, fmt.Errorf("reach the space: %w", err)
	}
	if len(r.of) == 0 {
		if err := r.read(ctx, client); err != nil {
			return 0, err
		}
	}
	lost, away := r.word.Ends()
	r.each(func(s *standby) { s.is.Lost = lost })
	switch {
	case away != "":
		return 0, fmt.Errorf("%s, which has the standby, %w", away, errAway)
	case r.is.Settles:
		return watchEvery, r.settle(ctx, client)
	case lost != nil:
		return watchEvery, r.tell(ctx, 0)
	}
	if after := time.Until(r.due()); after > 0 {
		return min(after, watchEvery), r.tell(ctx, -1)
	}
	return 0, r.round(ctx, client)
}

// due is when the next round begins.
func (r *replicating) due() (at time.Time) {
	for _, s := range r.of {
		if s.is.Last == nil {
			return time.Time{}
		}
		if next := s.is.Last.At.Add(r.is.Every); at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}

// read learns which claims there are, and what their standbys hold.
func (r *replicating) read(ctx context.Context, client kubernetes.Interface) error {
	is := r.is.Move
	there, err := moversAt(ctx, client, &is)
	if err != nil {
		return err
	}
	if is.Claims, err = r.resolve(ctx, client, &is, there); err != nil {
		return err
	}
	return r.take(ctx, client, &is)
}

// take notes the claims of a unit.
func (r *replicating) take(ctx context.Context, client kubernetes.Interface, is *volumes.Move) error {
	for _, c := range is.Claims {
		if r.of[nameOf(c)] != nil {
			r.of[nameOf(c)].claim = c
			continue
		}
		s := &standby{key: volumes.MoverKey(is, c, volumes.SideStandby), claim: c}
		d, err := client.AppsV1().Deployments(s.key.Namespace).Get(ctx, s.key.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s: %w", s.key, err)
		}
		if err == nil {
			s.written = d.Annotations[v1alpha1.AnnotationStandby]
		}
		if was := volumes.ParseStandby(s.written); was != nil {
			s.is = *was
		}
		s.is.Claim, s.is.Source, s.is.Target = c.Name, is.From, is.To
		if s.is.Ended = false; !r.is.Settles {
			s.is.Every, s.is.MaxAge = r.is.Every.String(), r.is.MaxAge.String()
		}
		r.of[nameOf(c)] = s
	}
	return nil
}

// tell says what is known, where that is news, and has the movers run or rest; -1 leaves these.
func (r *replicating) tell(ctx context.Context, replicas int) (failed error) {
	for _, s := range r.of {
		r.word.Say(s.claim, s.is)
		if text := s.text(); text == s.written && replicas < 0 {
			continue
		} else if text == s.written && replicas == 0 && s.rests() {
			continue
		}
		if _, err := r.c.cfg.API.Patch(ctx, s.key, "apps/v1", "", s.is.Patch(replicas)); err != nil {
			if !apierrors.IsNotFound(err) {
				failed = fmt.Errorf("say how old a standby is: %w", err)
			}
			continue
		}
		s.written = s.text()
		if replicas == 0 {
			source := volumes.MoverKey(&r.is.Move, s.claim, volumes.SideSource)
			_, err := r.c.cfg.API.Patch(ctx, source, "apps/v1", "", volumes.Runs(0))
			if err != nil && !apierrors.IsNotFound(err) {
				failed = fmt.Errorf("let a mover rest: %w", err)
			}
		}
	}
	return failed
}

func (s *standby) text() string {
	text, _ := json.Marshal(s.is) // texts, numbers and times
	return string(text)
}

// rests reports whether the movers were told to rest after what is said now.
func (s *standby) rests() bool { return s.written != "" }

// round makes one round of all claims. It ends when a target is away.
func (r *replicating) round(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchEvery):
			}
			if lost, away := r.word.Ends(); lost != nil || away != "" {
				cancel(errAway)
				return
			}
		}
	}()
	free, err := r.c.alone(ctx, r.is.Space, r.is.FromUID, r.is.ToUID)
	if err != nil {
		return err
	}
	defer free()
	is := r.is.Move
	ends, err := r.begins(ctx, &is)
	if err != nil {
		return r.cut(ctx, err)
	}
	if err := r.take(ctx, client, &is); err != nil {
		return err
	}
	r.each(func(s *standby) { s.is.Settled, s.is.Released, s.is.Problem, s.is.Next = false, false, "", time.Time{} })
	if err := r.tell(ctx, -1); err != nil {
		return err
	}
	for i, c := range is.Claims {
		s := r.of[nameOf(c)]
		last, err := r.one(ctx, client, s, ends[i])
		if err != nil {
			return r.cut(ctx, fmt.Errorf("copy %s from %s to %s: %w", c.Name, is.From, is.To, err))
		}
		s.is.Last, s.is.Next = last, last.At.Add(r.is.Every)
		r.c.sent(last)
	}
	return r.tell(ctx, 0)
}

// begins has the movers run. Those that do not in time rest, and run again for the next attempt: the target makes then
// what they lack, such as a claim that was deleted after they had come.
func (r *replicating) begins(ctx context.Context, is *volumes.Move) ([]pods, error) {
	within, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	ends, err := r.movers(within, is)
	if err == nil || ctx.Err() != nil || within.Err() == nil {
		return ends, err
	}
	r.mu.Lock()
	why := r.text
	r.mu.Unlock()
	for _, c := range is.Claims {
		for _, side := range is.Sides() {
			k := volumes.MoverKey(is, c, side)
			if _, err := r.c.cfg.API.Patch(ctx, k, "apps/v1", "", volumes.Runs(0)); err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("let a mover rest: %w", err)
			}
		}
	}
	return nil, fmt.Errorf("no round in %s: %s", beginTime, why)
}

// cut is why a round has ended.
func (r *replicating) cut(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errAway) {
		return fmt.Errorf("the round was cut: one of %s and %s %w", r.is.From, r.is.To, cause)
	}
	return err
}

// one makes the round of one claim.
func (r *replicating) one(
	ctx context.Context, client kubernetes.Interface, s *standby, at pods,
) (*volumes.Round, error) {
	began := time.Now().UTC().Truncate(time.Second)
	receive := []string{volumes.Program, "volume", "receive", "--standby", began.Format(time.RFC3339)}
	if s.is.Last != nil {
		receive = append(receive, "--whole", s.is.Last.At.UTC().Format(time.RFC3339))
	}
	var last report
	from := podexec.End{Namespace: s.claim.Namespace, Pod: at.from,
		Command: []string{volumes.Program, "volume", "send", "-o", "json", "--live", volumes.Mount},
		Tell: func(line string) {
			is := report{}
			if json.Unmarshal([]byte(line), &is) == nil {
				last = is
				now := s.is
				now.Doing = fmt.Sprintf("a round runs: %s, of which %s were sent", output.Bytes(is.Bytes),
					output.Bytes(is.Sent))
				r.word.Say(s.claim, now)
			}
		}}
	to := podexec.End{Namespace: s.claim.Namespace, Pod: at.to, Command: append(receive, volumes.Mount)}
	_, err := podexec.Join(ctx, client.CoreV1().RESTClient(), r.c.cfg.Exec(r.is.Space), from, to)
	if err != nil {
		return nil, err
	}
	return &volumes.Round{At: began, Seconds: time.Since(began).Round(100 * time.Millisecond).Seconds(),
		Files: last.Files, Bytes: last.Bytes, Sent: last.Sent}, nil
}
