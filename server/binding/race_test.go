//go:build race

package binding_test

func init() { histories = 2_000 }
