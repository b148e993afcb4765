package sessions

import "time"

// RTT returns the round trip to a target as its connection has measured it, 0 where it has not. It
// is false where the target has no session here.
func (srv *Server) RTT(target string) (time.Duration, bool) {
	s := srv.session(target)
	if s == nil {
		return 0, false
	}
	return s.conn.Stats().RTT, true
}
