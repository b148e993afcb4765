//go:build !linux

package share

// memoryLimit is not known where a center is not run.
func memoryLimit() int64 { return unlimited }
