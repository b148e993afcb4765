package othertime

import (
	"encoding/binary"
	"errors"
	"syscall"
)

// Of the list that the kernel gives to a program (getauxval): where the vDSO is, an entry that
// means nothing, and the end.
const (
	auxShortcut = 33
	auxIgnore   = 1
	auxEnd      = 0
)

const word = 8

var order = binary.LittleEndian

// hideShortcut takes the vDSO off the list that lies above the program's stack: the number of
// arguments, they, a zero, the environment, a zero, the list.
func (t *tracer) hideShortcut() error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(t.pid, &regs); err != nil {
		return err
	}
	at := int64(regs.Rsp)
	read := func() (uint64, error) {
		var b [word]byte
		_, err := t.memory.ReadAt(b[:], at)
		at += word
		return order.Uint64(b[:]), err
	}
	arguments, err := read()
	if err != nil {
		return err
	}
	at += int64(arguments+1) * word
	for {
		if v, err := read(); err != nil {
			return err
		} else if v == 0 {
			break
		}
	}
	for {
		place := at
		kind, err := read()
		if err != nil {
			return err
		}
		at += word
		switch kind {
		case auxEnd:
			return errors.New("it is not on the list")
		case auxShortcut:
			var ignore [word]byte
			order.PutUint64(ignore[:], auxIgnore)
			_, err := t.memory.WriteAt(ignore[:], place)
			return err
		}
	}
}
