package services

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/upward"
)

// callTime is how long a caller waits for a connection.
const callTime = 3 * time.Second

var pods = target.Resource{Version: "v1", Plural: "pods"}

// accept accepts callers of one port until its listener is closed.
func (s *Services) accept(e *entry, port uint16, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || e.ctx.Err() != nil {
				return
			}
			s.Log.Debug("cannot accept a caller of a Service", "err", err)
			ondemand.Pause(e.ctx, acceptPause)
			continue
		}
		caller := conn.(*net.TCPConn)
		e.open.Go(func() { s.serve(e, port, caller) })
	}
}

// acceptPause is for how long no caller is accepted after the machine had no room for one.
const acceptPause = 100 * time.Millisecond

// serve joins a caller with a site where the Service has Pods.
func (s *Services) serve(e *entry, port uint16, caller *net.TCPConn) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { reset(caller) })() // whatever is still waited for below
	late := time.AfterFunc(callTime, cancel)
	defer late.Stop()
	give, why := s.admit(ctx, e.of, caller)
	if why != "" {
		s.Metrics.refuse(why)
		reset(caller)
		return
	}
	give = sync.OnceFunc(give)
	defer give()
	conn, err := s.connect(ctx, e, port)
	if moves(err) && late.Stop() {
		late.Reset(holdTime)
		give()
		conn, err = s.hold(ctx, e, port, err)
	}
	if err == nil && !late.Stop() {
		conn.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		s.Metrics.refuse(refusedNowhere)
		if e.silence.over(time.Now()) {
			s.Log.Info("a Service answers at no other site; its callers are reset", "space", e.of.key.Space,
				"namespace", e.of.key.Namespace, "service", e.of.key.Name, "err", err)
		}
		reset(caller)
		return
	}
	defer s.Metrics.connected()()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	exchange.Pass(caller, conn)
}

// silence keeps the log from telling the same of a Service more than once a minute. The zero value tells at once.
type silence struct {
	mu    sync.Mutex
	until time.Time
}

// over reports whether it may be told now, and begins the next silence then.
func (s *silence) over(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.until) {
		return false
	}
	s.until = now.Add(time.Minute)
	return true
}

// connect connects to a port of a Service: at another site, or here, where no other one answers and a Pod has become
// ready since kube-proxy sent the caller to this machine.
func (s *Services) connect(ctx context.Context, e *entry, port uint16) (io.ReadWriteCloser, error) {
	conn, err := s.call(ctx, e.of, port)
	if err == nil || s.Here == nil || s.Idle(e.of.at.namespace, e.of.at.service) {
		return conn, err
	}
	r := exchange.ToService(e.of.key.Space, e.of.key.Namespace, e.of.key.Name, port)
	r.SpaceUID, r.UID = e.of.spaceUID, e.of.uid
	resp, failed := s.Here(ctx, r)
	if failed != nil {
		return nil, err
	}
	here, failed := exchange.Connection(resp)
	if failed != nil {
		return nil, err
	}
	return here, nil
}

// call has the parent connect to a port of a Service, at another site.
func (s *Services) call(ctx context.Context, of callee, port uint16) (io.ReadWriteCloser, error) {
	return upward.Call(ctx, s.up, of.key.Space, "", upward.ServiceCall{
		Namespace: of.key.Namespace, Service: of.key.Name, UID: of.origin, Port: port})
}

// admit takes a seat for a caller, and returns what gives it back, or says why there is none. A Pod of the space that
// is known here needs a seat alone. About every other caller the cluster is asked, and one of whom that knows nothing
// is waited for. Both take one of few places and no seat: whoever reaches a port of this machine holds up nobody who
// is known.
func (s *Services) admit(ctx context.Context, of callee, caller net.Conn) (give func(), refused string) {
	from, err := netip.ParseAddrPort(caller.RemoteAddr().String())
	if err != nil {
		return nil, refusedCaller
	}
	at := from.Addr().Unmap()
	if !s.knows(of, at.String()) {
		if refused := s.meet(ctx, of, at); refused != "" {
			return nil, refused
		}
	}
	if give = s.seats.take(of.key.Space); give == nil {
		return nil, refusedLimit
	}
	return give, ""
}

// meet finds out whether a caller that is not known is a Pod of the space whose Service is called, and says why it is
// refused.
func (s *Services) meet(ctx context.Context, of callee, at netip.Addr) (refused string) {
	done, refused := s.looks.begin(of.key.Space, at)
	is := nobodys
	if refused == "" {
		var err error
		is, err = s.whose(ctx, of, at)
		if done(is); err != nil {
			s.Log.Debug("cannot find out who calls a Service", "caller", at, "err", err)
			return refusedUnknown
		}
	} else if refused != refusedNobody {
		return refused
	}
	switch is {
	case ours:
		return ""
	case nobodys:
		refused = s.newcomers.wait(ctx, of.key.Space, func() bool { return s.knows(of, at.String()) })
	default:
		refused = refusedCaller
	}
	if refused != "" {
		s.Log.Debug("whoever calls a Service is no pod of its space", "caller", at, "space", of.key.Space,
			"namespace", of.key.Namespace, "service", of.key.Name)
	}
	return refused
}

// whose asks the cluster whether an address is that of a Pod of the space whose Service is called.
func (s *Services) whose(ctx context.Context, of callee, at netip.Addr) (is who, err error) {
	found := map[string]bool{}
	_, err = s.client.List(ctx, target.Listing{Resource: pods, FieldSelector: "status.podIP=" + at.String()},
		func(o *target.Object) error {
			if addressOf(o) != "" {
				found[o.Metadata.Namespace] = true
			}
			return nil
		})
	if err != nil {
		return unasked, err
	}
	is = nobodys
	for namespace := range found {
		live, err := s.client.Get(ctx, namespaces, "", namespace, false)
		if err != nil {
			return unasked, err
		}
		if !live.IsOf(of.key.Space, of.spaceUID) {
			return theirs, nil
		}
		is = ours
	}
	return is, nil
}

// reset ends a connection so that its other side knows at once that nothing answered.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // the close is told next
	_ = c.Close()      // there is nobody to tell
}
