// Package upward is what a child asks of its parent over a data connection: requests of pods for
// the API of their space, tokens for them, and connections to Services that are elsewhere. Each
// stream carries one HTTP/1.1 request and its answer, upgrades and watches included.
//
//	rt := upward.NewTransport(opener)            // the child
//	upward.Server{Handler: h}.ServeStream(...)   // the parent
//
// A request goes up, tier by tier, to the center that is the home of its space. Each tier builds it
// anew from an allow-list of headers ([Request]) and puts the proven name of the child that it came
// from before the path of the site ([Arrived]). So the home knows the site by identities alone, and
// a relay can speak only for names below it.
package upward
