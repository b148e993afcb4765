package copier

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/podexec"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/tunnel/output"
)

const (
	// littleTime and littleBytes are what a round beside the app takes or sends at most when the rest is little.
	littleTime  = 5 * time.Second
	littleBytes = 16 << 20
	// mostRounds are made of it: an app that writes faster than can be copied has a longer pause.
	mostRounds = 5
	// againAfter is when the next round beside the app is made while it does not stop.
	againAfter = time.Minute
	// tellEvery is how often people are told of bytes.
	tellEvery = 10 * time.Second
	// firstPause and mostPause are between attempts that failed.
	firstPause = time.Second
	mostPause  = 30 * time.Second
)

// moving is one move.
type moving struct {
	c       *Copier
	stop    context.CancelFunc
	pair    [2]string // of the move
	wake    func()
	changed chan struct{} // a word that move is another one

	mu    sync.Mutex
	move  volumes.Move
	round context.CancelFunc
	text  string
	woke  time.Time // when it was told last
	near  bool
	last  string // what is known by the last round
	whole int64  // the Left that everything was compared at
}

// become takes over what is known of the move now. A round beside the app ends when that has stopped.
func (m *moving) become(is volumes.Move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.move.Left == is.Left && m.move.Within == is.Within && slices.Equal(m.move.Claims, is.Claims) {
		return
	}
	m.move = is
	if m.round != nil {
		m.round()
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func (m *moving) state(left int64) volumes.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := volumes.State{Text: m.text}
	if m.last != "" && left == 0 {
		s.Text = strings.TrimPrefix(s.Text+"; "+m.last, "; ")
	}
	switch {
	case left != 0 && m.whole == left:
		s.Copied = binding.CopiedWhole
	case m.near:
		s.Copied = binding.CopiedNearly
	}
	return s
}

// say says what is done, and wakes who waits where that may matter.
func (m *moving) say(wake bool, text string, args ...any) {
	m.mu.Lock()
	m.text = fmt.Sprintf(text, args...)
	if now := time.Now(); wake || now.Sub(m.woke) >= tellEvery {
		m.woke, wake = now, true
	}
	m.mu.Unlock()
	if wake {
		m.wake()
	}
}

// run copies until the context ends.
func (m *moving) run(ctx context.Context) {
	for failed := 0; ctx.Err() == nil; {
		err := m.attempt(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			failed = 0
			continue
		case m.superseded():
			continue
		}
		m.say(true, "%s", err)
		m.c.cfg.Log.Warn("copy the volumes of a unit", "err", err)
		pause := min(firstPause<<min(failed, 8), mostPause)
		failed++
		select {
		case <-ctx.Done():
		case <-m.changed:
		case <-time.After(pause):
		}
	}
}

// superseded reports whether the attempt ended because the move is another one.
func (m *moving) superseded() bool {
	select {
	case <-m.changed:
		return true
	default:
		return false
	}
}

// attempt makes the rounds that the move needs as it is now, and waits until it is another one.
func (m *moving) attempt(ctx context.Context) error {
	round, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	is := m.move
	m.round = cancel
	m.mu.Unlock()
	ends, err := m.movers(round, &is)
	if err != nil {
		return err
	}
	if is.Left != 0 {
		if m.state(is.Left).Copied != binding.CopiedWhole {
			if _, err := m.copy(round, &is, ends, false); err != nil {
				return err
			}
			m.mu.Lock()
			m.whole = is.Left
			m.mu.Unlock()
			m.say(true, "all is copied and compared")
		}
		return m.await(round, 0)
	}
	for n := 1; ; n++ {
		began := time.Now()
		sent, err := m.copy(round, &is, ends, true)
		if err != nil {
			return err
		}
		took := time.Since(began)
		fits := is.Within == 0 || 2*took <= is.Within
		if little := took <= littleTime || sent <= littleBytes; n < mostRounds && !(little && fits) {
			continue
		}
		last := roundsMade(is.Claims, took)
		if !fits {
			last = tooLong(took, is.Within)
		}
		m.mu.Lock()
		m.near, m.last = fits, last
		m.mu.Unlock()
		m.say(true, "")
		return m.await(round, againAfter)
	}
}

// tooLong says why a move does not go on whose last round would be as long as the one before.
func tooLong(took, within time.Duration) string {
	return fmt.Sprintf("a round takes %s, and nothing would run during the last one, which may have half of readyTimeout "+
		"(%s): have a Placement decide with a longer spec.move.readyTimeout, or the app write less",
		took.Round(time.Second), within)
}

// roundsMade says what was copied beside the app, in rounds of which the last took some time.
func roundsMade(claims []volumes.Claim, took time.Duration) string {
	var later []string
	for _, c := range claims {
		if c.OnePod {
			later = append(later, c.Name)
		}
	}
	text := fmt.Sprintf("the first rounds are made, and the last one will take about %s, while nothing runs",
		max(took.Round(time.Second), time.Second))
	if len(later) == 0 {
		return text
	}
	one := "for one Pod alone (ReadWriteOncePod), and copied while nothing runs: " + strings.Join(later, ", ")
	if len(later) == len(claims) {
		return one
	}
	return text + "; " + one
}

// await waits until the move is another one, or a time is over, which 0 never is.
func (m *moving) await(ctx context.Context, most time.Duration) error {
	var over <-chan time.Time
	if most > 0 {
		over = time.After(most)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
	}
	return nil
}

// report is what of the reports of a sender is needed, see agent/mover.
type report struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	Sent  int64 `json:"sent"`
}

// copy copies all claims, one after the other, and returns how many bytes crossed.
func (m *moving) copy(ctx context.Context, is *volumes.Move, ends []pods, live bool) (sent int64, err error) {
	client, err := m.c.cfg.Client(is.Space)
	if err != nil {
		return 0, fmt.Errorf("reach the space: %w", err)
	}
	for i, c := range is.Claims {
		if live && c.OnePod {
			continue
		}
		send := []string{volumes.Program, "volume", "send", "-o", "json", "--memory", volumes.Memory}
		if live {
			send = append(send, "--live")
		}
		what := "copies"
		if !live {
			what = "nothing runs; copies the rest of"
		}
		m.say(false, "%s %s", what, c.Name)
		var last report
		tell := func(line string) {
			r := report{}
			if json.Unmarshal([]byte(line), &r) == nil {
				last = r
				m.say(false, "%s %s: %s, of which %s were sent", what, c.Name, output.Bytes(r.Bytes),
					output.Bytes(r.Sent))
			}
		}
		from := podexec.End{Namespace: c.Namespace, Pod: ends[i].from, Command: append(send, volumes.Mount), Tell: tell}
		receive := []string{volumes.Program, "volume", "receive", "--memory", volumes.Memory, volumes.Mount}
		to := podexec.End{Namespace: c.Namespace, Pod: ends[i].to, Command: receive}
		if _, err := podexec.Join(ctx, client.CoreV1().RESTClient(), m.c.cfg.Exec(is.Space), from, to); err != nil {
			return sent, fmt.Errorf("copy %s from %s to %s: %w", c.Name, is.From, is.To, err)
		}
		sent += last.Sent
	}
	return sent, nil
}
