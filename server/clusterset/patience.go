package clusterset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// The definitions of both kinds are a space's own where it had some before it joined, and may have a webhook convert
// each object that is read or written. So they are as slow as such a space likes, and few workers look after all.

const (
	// answerTime is how long one request may take.
	answerTime = 5 * time.Second
	// quick is how long one takes at most that costs others nothing. After any other one the space is asked nothing for
	// restTimes as long.
	quick     = 250 * time.Millisecond
	restTimes = 8
)

// errRests is returned for a space that is asked again later.
var errRests = errors.New("the space answers slowly, and is asked again later")

// patience is an API that spends little time on slow spaces.
type patience struct {
	api API

	mu       sync.Mutex
	converts map[store.Key]bool   // the definitions that have a webhook
	rests    map[string]time.Time // until when
}

func newPatience(api API) *patience {
	return &patience{api: api, converts: map[store.Key]bool{}, rests: map[string]time.Time{}}
}

// take takes over a definition, nil for one that is gone.
func (p *patience) take(k store.Key, o map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fields.String(o, "spec", "conversion", "strategy") == "Webhook" {
		p.converts[k] = true
	} else if delete(p.converts, k); !p.mayLocked(k.Space) {
		delete(p.rests, k.Space)
	}
}

// forget forgets all definitions: those that are there are taken over again. Who rests still does.
func (p *patience) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.converts)
}

// mayLocked reports whether a space may be slow. p.mu must be held.
func (p *patience) mayLocked(space string) bool {
	return p.converts[definition(space, v1alpha1.ServiceExports)] ||
		p.converts[definition(space, v1alpha1.ServiceImports)]
}

// ask makes one request of a space.
func (p *patience) ask(
	ctx context.Context, k store.Key, request func(context.Context) (map[string]any, error),
) (map[string]any, error) {
	began := time.Now()
	p.mu.Lock()
	may, rests := p.mayLocked(k.Space), began.Before(p.rests[k.Space])
	p.mu.Unlock()
	switch {
	case !may:
		return request(ctx)
	case rests:
		return nil, fmt.Errorf("%w: %s", errRests, k.Space)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	o, err := request(ctx)
	now := time.Now()
	took := now.Sub(began)
	p.mu.Lock()
	defer p.mu.Unlock()
	if took > quick && p.mayLocked(k.Space) {
		p.rests[k.Space] = now.Add(restTimes * took)
	}
	return o, err
}

// Live implements API.
func (p *patience) Live(ctx context.Context, k store.Key, apiVersion string) (map[string]any, error) {
	return p.ask(ctx, k, func(ctx context.Context) (map[string]any, error) { return p.api.Live(ctx, k, apiVersion) })
}

// Create implements API.
func (p *patience) Create(
	ctx context.Context, k store.Key, apiVersion string, o map[string]any,
) (map[string]any, error) {
	return p.ask(ctx, k, func(ctx context.Context) (map[string]any, error) { return p.api.Create(ctx, k, apiVersion, o) })
}

// Patch implements API.
func (p *patience) Patch(
	ctx context.Context, k store.Key, apiVersion, subresource string, patch []byte,
) (map[string]any, error) {
	return p.ask(ctx, k, func(ctx context.Context) (map[string]any, error) {
		return p.api.Patch(ctx, k, apiVersion, subresource, patch)
	})
}

// Delete implements API.
func (p *patience) Delete(ctx context.Context, k store.Key, apiVersion, uid string) error {
	_, err := p.ask(ctx, k, func(ctx context.Context) (map[string]any, error) {
		return nil, p.api.Delete(ctx, k, apiVersion, uid)
	})
	return err
}
