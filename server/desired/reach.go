package desired

import "skerry.dev/skerry/server/catalog"

// reaches takes over whether an object reaches all of its space.
func reaches(o *catalog.Object, is bool) {
	if o.Reaches == is {
		return
	}
	if o.Reaches = is; is {
		o.Namespace.Space.Reaching[o] = struct{}{}
	} else {
		delete(o.Namespace.Space.Reaching, o)
	}
}

// settleReaching has the names of Services follow where their space runs pods.
func (s *step) settleReaching(sp *catalog.Space) {
	for o := range sp.Reaching {
		s.settle(o, false)
	}
}
