package streams

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Those who call while one searches get what it finds. Nobody gets what one found that has gone meanwhile.
func TestOneSearchesForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f found
		searches := 0
		find := func() (serving, error) {
			searches++
			time.Sleep(time.Second)
			return serving{backends: []backend{{pod: "web-0"}}}, nil
		}
		gone, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = f.share(gone, asked{service: "web"}, func() (serving, error) {
				<-gone.Done()
				return serving{}, context.Canceled
			})
		}()
		synctest.Wait()
		ended := make(chan error)
		for range 50 {
			go func() {
				is, err := f.share(t.Context(), asked{service: "web"}, find)
				if err == nil && len(is.backends) != 1 {
					err = errors.New("it has found nothing")
				}
				ended <- err
			}()
		}
		synctest.Wait()
		late, stop := context.WithCancel(t.Context())
		go func() {
			_, err := f.share(late, asked{service: "web"}, find)
			if err == nil {
				err = errors.New("it waits no longer, and has an answer")
			} else {
				err = nil
			}
			ended <- err
		}()
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cancel()
		for range 50 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if searches != 1 || len(f.searches) != 0 {
			t.Errorf("%d searches, and %d go on", searches, len(f.searches))
		}
		if _, known := f.get(asked{service: "web"}); !known {
			t.Error("it is not believed")
		}
	})
}
