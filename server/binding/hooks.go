package binding

// Hooks is how far the hooks of a place have come, which are run one after the other before it is
// left. It is zero while none has begun. It is stored before the first is run, so that a restart
// goes on with the same one.
type Hooks struct {
	// Began is when the first one began, in seconds since 1970. With the unit and the target it names
	// this leaving.
	Began uint32
	// Ran is how many have ended, Failed how many attempts of the present one have failed.
	Ran, Failed uint8
}

// HookState is what is known of the present attempt of a hook.
type HookState uint8

// The states.
const (
	// HookRuns: it has not ended, as far as is known.
	HookRuns HookState = iota
	// HookEnded: it has ended, or its failure is to be ignored.
	HookEnded
	// HookFailed: it has failed, and the target is not left before another attempt has ended.
	HookFailed
	// HookChanged: it has failed, and what it runs is another now: the pause after the failure ends.
	HookChanged
)

// The pause after an attempt that failed, in seconds: it doubles up to the longest.
const (
	firstPause = 10
	mostPause  = 300
)

func pauseAfter(failed uint8) uint32 { return min(uint32(firstPause)<<min(failed-1, 5), mostPause) }

// released reports whether a place may be left: its hooks have ended. Where they have not, the next
// one begins. A place that is still to replace another one was not ready, and is left without.
func (s *step) released(i int) bool {
	p := &s.Places[i]
	t, _ := s.facts.target(p.Target)
	if p.For != 0 || t.Hooks == 0 {
		return true
	}
	if _, asked := s.leaving[p.Target]; !asked {
		if s.leaving == nil {
			s.leaving = map[TargetID]struct{}{}
		}
		s.leaving[p.Target] = struct{}{}
		p.goOn(t, s.facts.now())
	}
	return p.Hooks.Ran >= t.Hooks
}

// held reports whether a place would have been left in this step but for its hooks.
func (s *step) held(p Place) bool {
	_, asked := s.leaving[p.Target]
	return asked && !p.Off
}

// goOn takes the hooks of a place one step further, by what is known of the present one.
func (p *Place) goOn(t Target, now uint32) {
	h := &p.Hooks
	switch {
	case h.Began == 0:
		h.Began, p.Since = now, now
	case h.Ran >= t.Hooks:
	case t.Hook == HookEnded:
		h.Ran, h.Failed, p.Since = h.Ran+1, 0, now
	case t.Hook == HookFailed:
		h.Failed = min(h.Failed, 254) + 1
		p.Since = now + pauseAfter(h.Failed)
	case t.Hook == HookChanged:
		p.Since = min(p.Since, now)
	}
}

// forgetHooks has the hooks run anew the next time.
func (p *Place) forgetHooks() {
	if p.Hooks != (Hooks{}) {
		p.Since, p.Hooks = 0, Hooks{}
	}
}

// Runs reports whether a hook is to be run before the place is left, and has not ended.
func (p Place) Runs(hooks uint8) bool { return !p.Off && p.Hooks.Began != 0 && p.Hooks.Ran < hooks }
