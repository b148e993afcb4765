// Package machine checks what a center and an agent need of the machine that they run on: the disk,
// the owner and the modes of their files, the kernel's UDP buffers, their ports and their service.
//
//	checks := machine.Checks(machine.Config{Dir: "/var/lib/skerry"})
//
// A check writes one small file to the data directory and removes it. Nothing else is changed.
package machine
