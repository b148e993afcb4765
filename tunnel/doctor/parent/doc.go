// Package parent checks the way from a site to its parent, before and after it has joined: name,
// proxy, TCP, UDP, who answers there, clocks, the join token or the site's place at the parent, and
// versions.
//
//	checks := parent.Checks(parent.Config{Parents: []string{"https://center:7443"}, Token: token})
//
// It uses nothing up and changes nothing: a token stays good, and a session that the site's agent
// has goes on. The checks of a site that has joined need its credentials.
package parent
