package bench

// sideBySide calls do for 0 to n-1 by so many writers at once. A writer whose call fails stops; one
// of their errors is returned.
func sideBySide(writers, n int, do func(i int) error) error {
	errs := make(chan error)
	for w := range writers {
		go func() {
			var err error
			for i := w; i < n && err == nil; i += writers {
				err = do(i)
			}
			errs <- err
		}()
	}
	var failed error
	for range writers {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
}
