// Package boottime reads the clock that runs on while a machine is suspended, and that nobody sets:
// CLOCK_BOOTTIME. Go's monotonic clock stops in suspend, and the time of day can be set back. A
// reading means something only within one boot of the machine, which ID names.
package boottime
