package services

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// reviewTime is how long a site may take to call a Service and to say what came of that.
const reviewTime = 10 * time.Second

// Review has a site call a Service of a space, and says what each place on the way decided. The error is one of
// Kubernetes' API.
func (s *Services) Review(
	ctx context.Context,
	space string,
	q v1alpha1.ServiceReviewSpec,
) (*v1alpha1.ServiceReviewStatus, error) {
	r := &exchange.Request{Space: space, Namespace: q.Namespace, Pod: q.Service, Resource: exchange.Services,
		Verb: exchange.Call, Path: strings.Split(q.From, "/"), Query: url.Values{}, Timeout: reviewTime}
	for name, value := range map[string]string{
		exchange.OptionPort: q.Port, exchange.OptionHost: q.Host, exchange.OptionAs: q.Pod,
	} {
		if value != "" {
			r.Query.Set(name, value)
		}
	}
	var err error
	if r.Origin, err = s.Callable(keyOf(r), r.Path[0]); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	found, err := s.call(ctx, r)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return statusOf(found), nil
}

// Call answers the parent of a relay, who has a site below call a Service.
func (s *Services) Call(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	found, err := s.call(ctx, r)
	if err != nil {
		return nil, err
	}
	return found.Response(), nil
}

func keyOf(r *exchange.Request) store.Key {
	return store.Key{Space: r.Space, Resource: "services", Namespace: r.Namespace, Name: r.Pod}
}

// call has a target call a Service, the one that r.Path names first, or the only one that has the name. A target that
// cannot do that is a finding, too: the error is about the question alone.
func (s *Services) call(ctx context.Context, r *exchange.Request) (*exchange.Traced, error) {
	at, reaches := s.Named(keyOf(r), r.Origin)
	next := *r
	switch {
	case len(r.Path) > 0:
		next.Path = r.Path[1:]
	case len(at) != 1:
		slices.Sort(at)
		return nil, badRequest("it is a relay, and " + cmp.Or(strings.Join(at, ", "), "no target") + " below it has " +
			"the Service or its name: name a site behind the relay, as in RELAY/SITE")
	}
	target := append(slices.Clone(r.Path), at...)[0]
	if !slices.Contains(at, target) {
		why := "while the Service, its Namespace or its Space says skerry.dev/reach: Space, its name goes where the " +
			"space runs pods, and it runs none there"
		if !reaches {
			why = "it does not reach its space, so it is only where what it selects is; say skerry.dev/reach: Space on " +
				"the Service, its Namespace or its Space"
		}
		return traced(exchange.Hop{At: target, Reason: exchange.NoName, Message: "the site has not even the name of " +
			"the Service, and pods there find nothing by it: " + why}), nil
	}
	began := time.Now()
	resp, err := s.Sites.Do(ctx, target, &next)
	if err == nil {
		var found *exchange.Traced
		if found, err = exchange.ReadTraced(target, resp); err == nil {
			return found, nil
		}
	}
	if f := exchange.FaultOf(err); f.Code == http.StatusBadRequest && strings.Contains(f.Message, "there is no verb") {
		return nil, badRequest("the agent of target " + target + " is older than this center, and cannot be asked: " +
			"upgrade it")
	} else if f.Code == http.StatusBadRequest {
		return nil, badRequest("target " + target + ": " + f.Message)
	}
	hop := exchange.HopOf(target, err, time.Since(began))
	hop.Message = "it cannot be asked now, so this says nothing of its pods: " + hop.Message
	return traced(hop), nil
}

func badRequest(why string) error {
	return &exchange.Fault{Code: http.StatusBadRequest, Reason: "BadRequest", Message: why}
}

// traced is what came of a call that has not left the site.
func traced(hop exchange.Hop) *exchange.Traced {
	return &exchange.Traced{Reason: hop.Reason, Message: hop.Message, Micros: hop.Micros, Hops: []exchange.Hop{hop}}
}

// statusOf is the answer for users.
func statusOf(t *exchange.Traced) *v1alpha1.ServiceReviewStatus {
	status := &v1alpha1.ServiceReviewStatus{Answered: t.Reason == exchange.Answered, Reason: t.Reason,
		Message: t.Message, Port: int32(t.Port), As: t.As, Took: took(t.Micros)}
	for _, hop := range t.Hops {
		status.Hops = append(status.Hops, v1alpha1.ServiceHop{At: path.Clean(hop.At), Reason: hop.Reason,
			Message: hop.Message, Pod: hop.Pod, Took: took(hop.Micros)})
		if status.Answered && hop.Reason == exchange.Answered {
			status.Site, status.Pod = path.Clean(hop.At), hop.Pod
		}
	}
	return status
}

func took(micros int64) *metav1.Duration {
	if micros <= 0 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(micros) * time.Microsecond}
}
