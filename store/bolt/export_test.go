package bolt

// TendNow does what Tend does at each of its times.
func (f *File) TendNow() error { return f.tend() }

// Waiting is how many writes wait for their transaction.
func (f *File) Waiting() int {
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	return len(f.group.waiting)
}
