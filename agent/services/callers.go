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

// How many connections callers of a site may have open: all together, and to the Services of one space.
const (
	mostConnections = exchange.MostOfServices
	mostOfSpace     = exchange.MostServicesOfSpace
)

// callTime is how long a caller waits for a connection.
const callTime = 3 * time.Second

var pods = target.Resource{Version: "v1", Plural: "pods"}

// accept accepts callers of one port until its listener is closed.
func (s *Services) accept(e *entry, at doorKey, d *door) {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || e.ctx.Err() != nil {
				return
			}
			s.Log.Debug("cannot accept a caller of a Service", "err", err)
			ondemand.Pause(e.ctx, acceptPause)
			continue
		}
		caller := conn.(*net.TCPConn)
		e.open.Go(func() { s.serve(e, at, d, caller) })
	}
}

// acceptPause is for how long no caller is accepted after the machine had no room for one.
const acceptPause = 100 * time.Millisecond

// serve joins a caller with a site where the Service has Pods.
func (s *Services) serve(e *entry, at doorKey, d *door, caller *net.TCPConn) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { reset(caller) })() // whatever is still waited for below
	late := time.AfterFunc(s.patience, cancel)
	defer late.Stop()
	from, give, why := s.admit(ctx, e.of, caller)
	if why != "" {
		s.Metrics.refuse(why)
		reset(caller)
		return
	}
	give = sync.OnceFunc(give)
	defer give()
	is := wish{e, at, d, from}
	conn, err := s.connect(ctx, is)
	if exchange.IsMoving(err) && late.Stop() {
		late.Reset(holdTime)
		give()
		conn, err = s.hold(ctx, is, err)
	}
	if err == nil && !late.Stop() {
		conn.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		s.Metrics.refuse(refusedBy(err))
		reset(caller)
		s.tell(e, err)
		return
	}
	defer s.Metrics.connected()()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	exchange.Pass(caller, conn)
}

// wish is a connection that a Pod wants to a port of a Service. From is what other sites are told of the Pod.
type wish struct {
	*entry
	doorKey
	door *door
	from string
}

// connect connects to a port of a Service: straight where what answers for it is here, else at another site, or here,
// where no other one answers and a Pod has become ready since kube-proxy sent the caller to this machine.
func (s *Services) connect(ctx context.Context, e wish) (io.ReadWriteCloser, error) {
	if conn := callStraight(ctx, s, e, false); conn != nil {
		return conn, nil
	}
	conn, also, err := s.call(ctx, e.of, e.doorKey, e.from)
	if isAway(err) {
		if conn := callStraight(ctx, s, e, true); conn != nil {
			return conn, nil
		}
	} else {
		e.entry.here.learn(also)
	}
	if err == nil || s.Here == nil || s.Idle(e.of.at.namespace, e.of.at.service) {
		return conn, err
	}
	here, failed := callHere(ctx, s, e.of, e.doorKey, e.from)
	if failed != nil {
		return nil, err
	}
	return here, nil
}

// callHere connects a Pod to a port of a Service, at this site. s.Here is not nil.
func callHere(ctx context.Context, s *Services, of callee, at doorKey, from string) (io.ReadWriteCloser, error) {
	r := exchange.ToService(of.key.Space, of.key.Namespace, of.key.Name, at.host, at.port)
	r.SpaceUID, r.UID, r.Caller = of.spaceUID, of.uid, from
	resp, err := s.Here(ctx, r)
	if err != nil {
		return nil, err
	}
	return exchange.Connection(resp)
}

// call has the parent connect a Pod to a port of a Service, at another site, and say what else answers, here.
func (s *Services) call(ctx context.Context, of callee, at doorKey, from string) (
	conn io.ReadWriteCloser, here []upward.Here, err error,
) {
	return upward.CallHere(ctx, s.up, of.key.Space, "", upward.ServiceCall{
		Namespace: of.key.Namespace, Service: of.key.Name, UID: of.origin, Port: at.port, Host: at.host,
		Caller: from})
}

// admit takes a seat for a caller, and returns what gives it back and what other sites are told of the caller, or says
// why there is no seat. Whoever is known here needs a seat alone. About every other caller the cluster
// is asked, and one of whom that knows nothing is waited for. Both take one of few places and no seat: whoever reaches
// a port of this machine holds up nobody who is known.
func (s *Services) admit(ctx context.Context, of callee, caller net.Conn) (from string, give func(), refused string) {
	addr, err := netip.ParseAddrPort(caller.RemoteAddr().String())
	if err != nil {
		return "", nil, refusedCaller
	}
	at := addr.Addr().Unmap()
	from, known := letsIn(s, of, at)
	if !known {
		if from, refused = s.meet(ctx, of, at); refused != "" {
			return "", nil, refused
		}
	}
	if give = s.seats.Take(of.key.Space); give == nil {
		return "", nil, refusedLimit
	}
	return from, give, ""
}

// letsIn reports whether a caller that is known here may call a Service, and what other sites are told of it.
func letsIn(s *Services, of callee, at netip.Addr) (from string, is bool) {
	seen := sightOf(s, of, at.String())
	if seen.lets {
		return seen.among.caller(), true
	}
	return outsider(s, seen, at)
}

// meet finds out whether a caller that is not known is a Pod of a space that may call the Service, or of the site where
// the Service lets those in, and what other sites are told of it, or says why it is refused.
func (s *Services) meet(ctx context.Context, of callee, at netip.Addr) (from, refused string) {
	is, from, refused, err := s.looks.ask(ctx, of.key, at, func() (who, string, error) { return s.whose(ctx, of, at) })
	switch {
	case err != nil:
		s.Log.Debug("cannot find out who calls a Service", "caller", at, "err", err)
		return "", refusedUnknown
	case refused != "":
		return "", refused
	case is == ours, is == members, is == sites && outsidersAt(s, of) != none:
		return from, ""
	case is == nobodys:
		refused = s.newcomers.wait(ctx, of.key.Space, func() (known bool) {
			from, known = letsIn(s, of, at)
			return known
		})
	default:
		refused = refusedCaller
	}
	if refused != "" {
		s.Log.Debug("whoever calls a Service is no pod of its space", "caller", at, "space", of.key.Space,
			"namespace", of.key.Namespace, "service", of.key.Name)
	}
	return from, refused
}

// whose asks the cluster whether an address is that of a Pod of the space whose Service is called, or of the site's
// own. From is what other sites are told of that.
func (s *Services) whose(ctx context.Context, of callee, at netip.Addr) (is who, from string, err error) {
	found := map[string][]resident{}
	_, err = s.client.List(ctx, podsAt(at), func(o *target.Object) error {
		if is := residentOf(o); is.address != "" {
			found[o.Metadata.Namespace] = append(found[o.Metadata.Namespace], is)
		}
		return nil
	})
	if err != nil {
		return unasked, "", err
	}
	is = nobodys
	var among candidates
	for namespace, all := range found {
		live, err := s.client.Get(ctx, namespaces, "", namespace, false)
		if err != nil {
			return unasked, "", err
		}
		from := homeOf(live)
		s.mu.Lock()
		whose := callsLocked(s, of, from.owner)
		s.mu.Unlock()
		if from.own {
			whose = sites
		}
		if whose == theirs || is != nobodys && is != whose {
			return theirs, "", nil // or of more than one
		}
		is = whose
		for _, pod := range all {
			if is == members {
				among.addForeign(pod)
			} else {
				among.add(from, pod)
			}
		}
	}
	return is, among.caller(), nil
}

// reset ends a connection so that its other side knows at once that nothing answered.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // the close is told next
	_ = c.Close()      // there is nobody to tell
}
