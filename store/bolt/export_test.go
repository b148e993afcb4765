package bolt

// TendNow does what Tend does at each of its times.
func (f *File) TendNow() error { return f.tend() }
