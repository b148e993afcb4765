// Package auditlog writes what an agent has written to its target: one JSON line a write, with the verb,
// the object, its space and how it ended, never the body.
//
// A line waits in memory until there are some, or a few seconds have gone by, and no write waits for the
// disk: flash wears by the page, and a site has more to do than to log. What a crash or a full disk loses
// is lost; lines that did not fit are counted in the next one that does. The files are bounded: the log is
// begun anew at a size, and few old ones are kept.
package auditlog
