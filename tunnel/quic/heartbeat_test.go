package quic_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/testutils/simnet"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/quic"
)

// calm is how long a session takes to have nothing to say, and beat a bit more than the time
// between two heartbeats.
const (
	calm      = time.Minute
	heartbeat = tunnel.IdleKeepAlive + time.Second
	roundTrip = 2 * time.Millisecond // the latency of both directions
)

// A child knows the round trip of each heartbeat that was answered.
func TestHeartbeatsAreMeasured(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		took := make(chan time.Duration, 1000)
		w.beat = func(d time.Duration) { took <- d }
		w.class = delta.LAN
		l := w.connect(0)
		w.lasts(l, time.Hour)
		if n, most := len(took), int(time.Hour/(tunnel.KeepAlive-time.Second)); n < most*3/4 || n > most {
			t.Errorf("%d heartbeats were measured in an hour of silence, want at most %d", n, most)
		}
		for len(took) > 0 {
			if d := <-took; d != roundTrip {
				t.Fatalf("a heartbeat took %s, the network %s", d, roundTrip)
			}
		}
		w.loses(isSign)
		w.lasts(l, time.Second) // the answer to one may be under way
		for len(took) > 0 {
			<-took
		}
		w.lasts(l, time.Hour)
		if n := len(took); n != 0 {
			t.Errorf("%d heartbeats were measured, and none has passed", n)
		}
	})
}

// Where only QUIC passes, its packets are the heartbeats; and when the other datagrams pass again,
// they are it again.
func TestOnlyQUICPasses(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		var tried atomic.Int64
		w.loses(func(p simnet.Packet) bool {
			if isSign(p) {
				tried.Add(1)
			}
			return isSign(p)
		})
		l := w.connect(0)
		w.lasts(l, 2*time.Hour)
		if n := tried.Load(); n < 2 || n > 12 {
			t.Errorf("%d signs of life were tried beside QUIC, none of which passes", n)
		}
		_, before := quic.Packets(l.parent)
		w.lasts(l, time.Hour)
		_, after := quic.Packets(l.parent)
		if each := time.Hour / time.Duration(max(1, after-before)); each < tunnel.IdleKeepAlive*4/5 ||
			each > heartbeat {
			t.Errorf("QUIC hears something each %s, want %s", each, tunnel.IdleKeepAlive)
		}
		w.loses(nil)
		w.lasts(l, time.Hour)
		_, before = quic.Packets(l.parent)
		w.lasts(l, 25*time.Minute)
		if _, after := quic.Packets(l.parent); after-before > 2 {
			t.Errorf("signs of life pass again, and QUIC heard %d packets", after-before)
		}
	})
}

// A child and a parent of which one is older, and knows no heartbeats beside QUIC, keep their
// session.
func TestOlderPeers(t *testing.T) {
	t.Run("parent", func(t *testing.T) {
		inWorld(t, 1, func(t *testing.T, w *world) {
			if err := w.listener.AsBefore(w.packet, w.center.TLS(t)); err != nil {
				t.Fatal(err)
			}
			l := w.connect(0)
			w.lasts(l, time.Hour)
			w.loses(func(simnet.Packet) bool { return true })
			if took, err := w.ends(l.left, tunnel.Idle+time.Second); !isSilent(err) {
				t.Errorf("the older parent ended with %v after %s", err, took)
			}
		})
	})
	t.Run("child", func(t *testing.T) {
		inWorld(t, 1, func(t *testing.T, w *world) {
			child, err := quic.DialAsBefore(w.ctx, w.sockets[0], w.at, w.center.Site(t))
			if err != nil {
				t.Fatal(err)
			}
			parent, err := w.listener.Accept(w.ctx)
			if err != nil {
				t.Fatal(err)
			}
			l := w.serve(child, parent)
			w.lasts(l, time.Hour)
			w.loses(func(simnet.Packet) bool { return true })
			if took, err := w.ends(l.left, tunnel.Idle+10*time.Second); !isSilent(err) {
				t.Errorf("the session of an older child ended with %v after %s", err, took)
			}
		})
	})
}

// A parent that has begun anew does not answer, and says within QUIC that the connection is gone,
// right after the first heartbeat.
func TestRestartOfAnIdleParentIsNoticed(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.connect(0)
		w.lasts(l, calm)
		w.restart()
		var asked atomic.Int64
		w.loses(func(p simnet.Packet) bool {
			if isSign(p) {
				asked.CompareAndSwap(0, time.Now().UnixNano())
			}
			return false
		})
		took, err := w.ends(l.ended, heartbeat+time.Second)
		late := time.Since(time.Unix(0, asked.Load()))
		t.Logf("noticed after %s, %s after the first sign of life", took, late)
		if late > time.Second || !errors.As(err, new(*quicgo.StatelessResetError)) {
			t.Errorf("noticed %s after the first sign of life: %v", late, err)
		}
		if _, n := w.listener.Strange(); n != 0 {
			t.Errorf("%d connections are heard", n)
		}
	})
}

// Who hears nothing any more ends the session after tunnel.Idle, and both sides know why. Where
// heartbeats pass and QUIC does not, the link is as good as dead for who has something to say.
func TestSilenceEndsASession(t *testing.T) {
	for name, c := range map[string]struct{ talk, signs bool }{
		"nothing passes": {}, "nothing of a change passes": {talk: true},
		"only signs of life pass": {talk: true, signs: true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				l := w.connect(0)
				w.lasts(l, 10*time.Minute)
				w.loses(func(p simnet.Packet) bool { return !c.signs || !isSign(p) })
				if c.talk {
					l.desired.set(deployment(2))
				}
				began := time.Now()
				const late = 15 * time.Second // of the looks, and of what is said in vain
				took, err := w.ends(l.left, tunnel.Idle+late)
				switch {
				case c.signs && errors.Is(err, tunnel.ErrStalled):
				case !isSilent(err) || took < tunnel.Idle-tunnel.IdleKeepAlive:
					t.Errorf("the parent ended after %s: %v", took, err)
				}
				if at := tunnel.LastHeard(time.Now(), err).Sub(began); !c.signs &&
					(at < -tunnel.IdleKeepAlive || at > late) {
					t.Errorf("the child was heard last %s after the link was cut", at)
				}
				_, err = w.ends(l.ended, 2*tunnel.Idle)
				if took := time.Since(began); !isSilent(err) || took > 2*tunnel.Idle {
					t.Errorf("the child ended after %s: %v", took, err)
				}
				time.Sleep(10 * time.Second)
				if _, n := w.listener.Strange(); n != 0 {
					t.Errorf("%d connections are still heard", n)
				}
			})
		})
	}
}

// A NAT that forgets an idle session changes nothing but where the parent sends to.
func TestRebindingOfAnIdleSession(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := w.connect(0)
		w.lasts(l, 10*time.Minute)
		for port := 1000; port < 1003; port++ {
			seems := w.moves(0, port)
			w.lasts(l, heartbeat+time.Second)
			if at := l.parent.RemoteAddr().String(); at != seems.String() {
				t.Fatalf("the parent sends to %s, the child is at %s", at, seems)
			}
			w.lasts(l, calm) // what QUIC still has to say
			_, before := quic.Packets(l.parent)
			w.lasts(l, 5*time.Minute)
			if _, after := quic.Packets(l.parent); after != before {
				t.Errorf("the parent knows where the child is, and QUIC is still asked: %d packets", after-before)
			}
		}
		l.desired.set(deployment(2))
		w.lasts(l, time.Second)
		if len(l.copied.Live()) != 2 {
			t.Error("nothing crosses any more")
		}
	})
}
