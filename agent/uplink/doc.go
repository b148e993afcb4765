// Package uplink holds one session to the parent, for ever: it joins once with a token, dials, serves the session, and dials again
// with a jittered backoff. It decides nothing about the target: with no session the site goes on as it is. The only
// errors that end it are those of joining that trying again does not mend. It is imported by agent.go alone.
package uplink
