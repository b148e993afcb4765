package server

import "errors"

// Ready is closed when the center serves its API, has placed what its data says and lets agents in;
// of a replica that stands by, when it serves its API.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// readyChecks are further lines of /readyz.
func (s *Server) readyChecks() map[string]func() error {
	checks := s.encrypted.Health()
	checks["center"] = s.checkReady
	return checks
}

// checkReady is a line of /readyz: the API answers before the rest of the center is there.
func (s *Server) checkReady() error {
	select {
	case <-s.ready:
		return nil
	default:
		return errors.New("the center is starting: root, placement or the sessions are not there yet")
	}
}
