package scheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
)

// answers are what a store says, one after another.
type answers struct {
	say  []error // nil is a write that was made
	sent []int64 // with which precondition each came
}

var errRefused = errors.New("the precondition does not hold")

func (a *answers) Write(_ context.Context, _ store.Key, _ []byte, was int64) (int64, bool, error) {
	a.sent = append(a.sent, was)
	err := a.say[0]
	if len(a.say) > 1 {
		a.say = a.say[1:]
	}
	switch {
	case err == nil:
		return 42, true, nil
	case errors.Is(err, errRefused):
		return 50, false, nil
	}
	return 0, false, err
}

// A write without an answer is sent again with the same precondition until there is one.
func TestAWriteIsMadeCertain(t *testing.T) {
	lost := errors.New("no answer")
	for name, c := range map[string]struct {
		say  []error
		want error
		sent int
	}{
		"made":                        {[]error{nil}, nil, 1},
		"no answer, then made":        {[]error{lost, lost, nil}, nil, 3},
		"changed":                     {[]error{errRefused}, ErrChanged, 1},
		"the first one arrived after": {[]error{lost, errRefused}, ErrChanged, 2},
		"this replica does not lead":  {[]error{ErrFenced}, ErrFenced, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			to := &answers{say: c.say}
			revision, err := Write(t.Context(), to, TermKey(), nil, 7)
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || revision != 42) {
				t.Errorf("%s: %d %v", name, revision, err)
			}
			if len(to.sent) != c.sent {
				t.Errorf("%s: sent %v", name, to.sent)
			}
			for _, was := range to.sent {
				if was != 7 {
					t.Errorf("%s: sent with %d", name, was)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, &answers{say: []error{lost}}, TermKey(), nil, 7); !errors.Is(err, lost) {
		t.Errorf("ended: %v", err)
	}
}
