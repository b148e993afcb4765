package data

import "skerry.dev/skerry/tunnel"

// Bring asks a child for a data connection because the child wants one. It does not wait. One that
// stands is closed first where the child says that it has ended there.
func (l *Links) Bring(session Session, w tunnel.Wanted) {
	target := session.Peer().Target
	l.mu.Lock()
	if link := l.links[target]; link != nil {
		if link.conn.Err() == nil && link.number != w.Ended {
			l.mu.Unlock()
			return // which the child is about to see
		}
		l.closeLocked(link, tunnel.ErrReplaced)
	}
	if l.over || l.asked[target] != nil {
		l.mu.Unlock()
		return
	}
	r := l.requestLocked(session)
	l.mu.Unlock()
	if !session.Ask(tunnel.Connect{Number: r.number}) {
		l.fail(r, ErrBusy)
	}
}
