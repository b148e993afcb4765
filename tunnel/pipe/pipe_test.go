package pipe_test

import (
	"testing"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConn(t *testing.T) {
	tunneltest.Run(t, func(*testing.T) (child, parent tunnel.Conn) {
		return pipe.New(pipe.Options{Child: tunnel.Identity{Target: tunneltest.Target}})
	})
}

func TestCutAfter(t *testing.T) {
	child, parent := pipe.New(pipe.Options{CutAfter: 10})
	s, err := child.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Write(make([]byte, 100))
	if n > 10 || err == nil {
		t.Errorf("%d bytes passed, %v", n, err)
	}
	<-parent.Done()
	if parent.Err() != pipe.ErrCut {
		t.Errorf("the other end ended with %v", parent.Err())
	}
}
