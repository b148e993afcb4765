//go:build !linux

package agent

// dropText does nothing where the system has no way to ask for it.
func dropText() {}
