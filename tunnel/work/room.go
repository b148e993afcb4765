package work

// roomBytes is about what encoding, compressing and committing take of a stack.
const roomBytes = 12 << 10

// Room gives the stack of a goroutine that has just begun the room that real work needs, in one step and while there is nothing on it: it would grow in three, in
// the depth of that work, and everything on it is copied and put right each time.
func Room() { _ = room(0) }

//go:noinline
func room(i int) byte {
	var stack [roomBytes]byte
	stack[i] = 1
	return stack[i/2]
}
