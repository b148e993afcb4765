package copier

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/podexec"
	"skerry.dev/skerry/server/volumes"
)

// settle has each standby hold one whole round and nothing else, so that the unit may begin on it. First it is known
// which, and only then what says so is removed from the volume.
func (r *replicating) settle(ctx context.Context, client kubernetes.Interface) error {
	done := true
	for _, s := range r.of {
		done = done && s.is.Released
	}
	if done {
		return r.tell(ctx, -1)
	}
	is := r.is.Move
	is.Claims = nil
	for _, s := range r.of {
		if s.is.Last == nil {
			return fmt.Errorf("%s holds no whole round of %s", is.To, s.claim.Name)
		}
		is.Claims = append(is.Claims, s.claim)
		if err := r.wakeUp(ctx, client, s.key, &is, s.claim, volumes.SideStandby); err != nil {
			return fmt.Errorf("start a mover: %w", err)
		}
	}
	for {
		ends, why, err := podsOf(ctx, client, &is, volumes.SideStandby)
		if err != nil {
			return err
		}
		if why == "" {
			for i, c := range is.Claims {
				if err := r.release(ctx, client, r.of[nameOf(c)], ends[i].to); err != nil {
					return err
				}
			}
			return r.tell(ctx, 0)
		}
		if _, away := r.word.Ends(); away != "" {
			return fmt.Errorf("%s, which has the standby, %w", away, errAway)
		}
		r.each(func(s *standby) { s.is.Problem = why })
		if err := r.tell(ctx, -1); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
}

func (r *replicating) release(ctx context.Context, client kubernetes.Interface, s *standby, pod string) error {
	program := func(more ...string) (string, error) {
		command := append([]string{volumes.Program, "volume", "settle"}, more...)
		return podexec.Run(ctx, client.CoreV1().RESTClient(), r.c.cfg.Exec(r.is.Space),
			podexec.End{Namespace: s.claim.Namespace, Pod: pod, Command: append(command, volumes.Mount)})
	}
	s.is.Problem = ""
	if !s.is.Settled {
		text, err := program()
		if err != nil {
			return fmt.Errorf("settle the standby of %s: %w", s.claim.Name, err)
		}
		var holds volumes.Round
		if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &holds); err != nil {
			return fmt.Errorf("settle the standby of %s: %w", s.claim.Name, err)
		}
		switch {
		case holds.At.Before(s.is.Last.At):
			return fmt.Errorf("the volume of %s at %s does not hold the round of %s: it is another volume", s.claim.Name,
				r.is.To, s.is.Last.At.Format(time.RFC3339))
		case holds.At.After(s.is.Last.At): // it was whole, and nobody had heard
			s.is.Last = &holds
		}
		s.is.Settled = true
		if err := r.tell(ctx, -1); err != nil {
			return err
		}
	}
	if _, err := program("--release"); err != nil {
		return fmt.Errorf("settle the standby of %s: %w", s.claim.Name, err)
	}
	s.is.Released = true
	return nil
}
