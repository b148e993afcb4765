package share

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericfilters "k8s.io/apiserver/pkg/server/filters"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// Streams into Pods that are open at a time: each takes a stream of a site's connection, and some
// tens of KiB here.
const (
	streamsOfSpace = 100
	streamsOfAll   = 1000
)

// longStreams are the subresources of Pods and Services that are answered for as long as somebody reads.
var longStreams = []string{"attach", "exec", "log", "portforward", "proxy"}

// LongRunning returns the check for requests that have no timeout.
func LongRunning() apirequest.LongRunningRequestCheck {
	return genericfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch"),
		sets.NewString(longStreams...),
	)
}

// unseated counts what is open without a seat, by space.
type unseated struct {
	ofSpace, ofAll int // how many there may be

	mu  sync.Mutex
	all int
	by  map[string]int
}

// open counts one more of a space, and reports false if it has too many.
func (o *unseated) open(space string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all >= o.ofAll || o.by[space] >= o.ofSpace {
		return false
	}
	if o.by == nil {
		o.by = map[string]int{}
	}
	o.all++
	o.by[space]++
	return true
}

func (o *unseated) close(space string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.by[space]--; o.by[space] == 0 {
		delete(o.by, space)
	}
}

// isStream reports whether a request streams from or to a Pod without a time limit.
func isStream(info *apirequest.RequestInfo) bool {
	return info.IsResourceRequest && info.APIGroup == "" &&
		(info.Resource == "pods" || info.Resource == "services") &&
		slices.Contains(longStreams, info.Subresource)
}

// stream answers a request that is a stream. It takes no seat: a hundred logs that are followed
// would leave their space none.
func (s *Limiter) stream(w http.ResponseWriter, r *http.Request, h http.Handler, leave func()) {
	leave()
	space := request.Space(r.Context())
	if !s.streams.open(space) {
		response.WriteTooMany(w, response.TooManyRequests("space "+space+" has "+strconv.Itoa(streamsOfSpace)+
			" streams into pods open, or all spaces together have "+strconv.Itoa(streamsOfAll)+"; end some"))
		return
	}
	defer s.streams.close(space)
	h.ServeHTTP(w, r)
}
