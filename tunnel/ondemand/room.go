package ondemand

// roomBytes is about the stack that encoding, compressing and committing need.
const roomBytes = 12 << 10

// Room grows the stack of a goroutine that has just begun to what real work needs, in one step
// while it is empty. Otherwise it would grow in three steps in the depth of that work. Each step
// copies everything on the stack.
func Room() { _ = room(0) }

//go:noinline
func room(i int) byte {
	var stack [roomBytes]byte
	stack[i] = 1
	return stack[i/2]
}
