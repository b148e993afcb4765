// Package systemd is what the service manager needs of Skerry: the units, and the messages of
// sd_notify(3).
//
// The life of a service under its unit:
//
//  1. The program starts. The unit is "activating" until Supervise is called.
//  2. Supervise says READY=1 and a line of STATUS=.
//  3. Supervise calls the check of the program's own loops, again and again. Each check that passes
//     feeds the watchdog. One that fails, or does not return, does not: systemd then ends the
//     program with SIGABRT, whose dump of goroutines is in the journal, and starts it again.
//  4. Stopping says STOPPING=1 as soon as the program is asked to end.
//
// Without a service manager all of it does nothing.
package systemd

import "embed"

// Units has the units of the center, of the agent, and of the agent's upgrade (package agent/upgrade).
//
//go:embed *.service *.path
var Units embed.FS
