// Package othertime runs a program, unmodified, on a machine whose clock is wrong: a small board
// without a battery that has just booted says 1970. A time namespace does not do that, because it
// leaves the time of day alone, and a preloaded library does not reach a program that is linked
// statically. So the program is traced: the kernel's shortcut for reading the clock is hidden from
// it, and what the system call answers instead is put back. It is for x86-64 alone. It is imported
// by the command testenv.
package othertime
