package apiserver

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/server/apiserver/borrow"
	"skerry.dev/skerry/server/apiserver/crd"
	"skerry.dev/skerry/server/apiserver/discovery"
	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/server/apiserver/top"
	"skerry.dev/skerry/server/apiserver/view"
	"skerry.dev/skerry/store"
)

// dispatch stands behind authentication and authorization, before the built-in kinds: it answers
// what more than one server has a part in, and hands the group skerry.dev to its server.
type dispatch struct {
	crds     *crd.Servers
	borrows  *borrow.Table
	statuses *targetStatus
	metrics  http.Handler
	profiles http.Handler
	renewal  http.Handler // of client certificates
	issuer   http.Handler
	used     func(ctx context.Context, space string) error
	stale    func(key store.Key) string
	aside    func(space, namespace string) string
	view     http.Handler // of what spaces have at sites
	reviews  *reviews
	// inventory shows the sites of a space, and what its Placements have decided.
	inventory http.Handler
	// reaches says that the Pods of spaces are reached where they run.
	reaches bool
	log     *slog.Logger
}

func (d *dispatch) wrap(native http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site := request.Site(r.Context()); site != "" {
			audit.AddAuditAnnotation(r.Context(), auditlog.Path, site)
		}
		if view.Takes(r.URL.Path) {
			if into, ok := view.IntoPod(r); ok && d.reaches {
				native.ServeHTTP(w, into)
				return
			}
			d.view.ServeHTTP(w, r)
			return
		}
		path := strings.TrimSuffix(r.URL.Path, "/")
		if subresource, ok := talk(path); ok && !d.reaches {
			response.Write(w, errOnSite(subresource))
			return
		}
		if d.reaches && top.IsOfNodes(path) {
			response.Write(w, top.NoNodes())
			return
		}
		d.makeDefaults(r)
		d.warnStale(r)
		d.warnElsewhere(r)
		r = followed(r)
		if r.Method == http.MethodPatch && strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch+") {
			r = r.WithContext(request.WithApply(r.Context()))
		}
		switch {
		case path == "/metrics":
			d.aboutAll(d.metrics, w, r)
		case path == profilesPath || strings.HasPrefix(path, profilesPath+"/"):
			d.aboutAll(d.profiles, w, r)
		case path == authn.RenewalPath:
			d.aboutAll(d.renewal, w, r)
		case path == discovery.VersionPath && r.Method == http.MethodGet && request.Space(r.Context()) != request.RootSpace:
			discovery.ServeVersion(w, r)
		case authn.IsIssuerPath(path):
			d.issuer.ServeHTTP(w, r)
		case path == "/apis":
			d.crds.AwaitDiscovery(r)
			discovery.ServeGroups(w, r, native, d.servers(r))
		case path == discovery.OpenAPIv3Path:
			discovery.ServeOpenAPIv3Root(w, r, native, d.servers(r))
		case strings.HasPrefix(path, discovery.OpenAPIv3Path+"/"):
			discovery.ServeOpenAPIv3(w, r, native, d.servers(r))
		case path == discovery.OpenAPIv2Path:
			discovery.ServeOpenAPIv2(w, r, native, d.servers(r))
		case d.statuses.takes(r):
			d.statuses.serve(w, r)
		case d.reviews.takes(r):
			d.reviews.ServeHTTP(w, r)
		case inventory.Takes(r):
			d.inventory.ServeHTTP(w, r)
		case path == inventory.GroupPath || path == inventory.VersionPath:
			d.serveInventory(w, r, native, path == inventory.GroupPath)
		case path == discovery.OwnGroup || strings.HasPrefix(path, discovery.OwnGroup+"/"):
			if own := d.crds.ForSpace(request.OwnSpace); own != nil {
				serveOwn(own, w, r)
				return
			}
			response.Write(w, response.NotFound())
		default:
			native.ServeHTTP(w, r)
		}
	})
}

// serveInventory answers which kinds a space has in the group of package inventory.
func (d *dispatch) serveInventory(w http.ResponseWriter, r *http.Request, native http.Handler, group bool) {
	own := d.crds.ForSpace(request.OwnSpace)
	switch {
	case own == nil:
		response.Write(w, response.NotFound())
	case group:
		discovery.ServeInventoryGroup(w, r, own, native)
	default:
		discovery.ServeInventoryResources(w, r, own, native)
	}
}

// aboutAll answers in root alone, because what is told is about all spaces.
func (*dispatch) aboutAll(h http.Handler, w http.ResponseWriter, r *http.Request) {
	if h == nil || request.Space(r.Context()) != request.RootSpace {
		response.Write(w, response.NotFound())
		return
	}
	h.ServeHTTP(w, r)
}

// makeDefaults has a space get the ServiceAccounts and ConfigMaps that every cluster has, when
// somebody from outside asks for such. If that fails the request goes on: the next one tries again.
func (d *dispatch) makeDefaults(r *http.Request) {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || d.used == nil || info.APIGroup != "" ||
		info.Resource != "serviceaccounts" && info.Resource != "configmaps" ||
		request.FromCenter(r.Context()) {
		return
	}
	if err := d.used(r.Context(), request.Space(r.Context())); err != nil && r.Context().Err() == nil {
		d.log.Warn(
			"namespaces lack the ServiceAccount and the ConfigMap of every cluster",
			"space",
			request.Space(r.Context()),
			"err",
			err,
		)
	}
}

// warnStale warns who reads an object by its name when what is shown of it is old.
func (d *dispatch) warnStale(r *http.Request) {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || d.stale == nil || !info.IsResourceRequest || info.Verb != "get" || info.Name == "" ||
		request.FromCenter(r.Context()) {
		return
	}
	k := store.Key{
		Space:     request.Space(r.Context()),
		Group:     info.APIGroup,
		Resource:  info.Resource,
		Namespace: info.Namespace,
		Name:      info.Name,
	}
	if info.Resource == "namespaces" {
		k.Namespace = "" // which a request's information has, too
	}
	if text := d.stale(k); text != "" {
		warning.AddWarning(r.Context(), "", text)
	}
}

// warnElsewhere warns who lists Pods of those that are not in the space.
func (d *dispatch) warnElsewhere(r *http.Request) {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	if !ok || d.aside == nil || !info.IsResourceRequest || info.Verb != "list" || info.APIGroup != "" ||
		info.Resource != "pods" || info.Name != "" || request.FromCenter(r.Context()) {
		return
	}
	if text := d.aside(request.Space(r.Context()), info.Namespace); text != "" {
		warning.AddWarning(r.Context(), "", text)
	}
}

// servers returns the servers besides the built-in one that a space has.
func (d *dispatch) servers(r *http.Request) []discovery.Part {
	var out []discovery.Part
	add := func(space string, groups []string) {
		if s := d.crds.ForSpace(space); s != nil && space != request.AllSpaces {
			out = append(out, discovery.Part{Server: s, Groups: groups})
		}
	}
	space := request.Space(r.Context())
	add(request.OwnSpace, nil)
	add(space, nil)
	for lender, groups := range d.borrows.Of(space) {
		add(lender, groups)
	}
	return out
}

// custom serves what is not built in: custom resources of the space.
func (d *dispatch) custom() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/") {
			d.crds.Serve(w, r)
			return
		}
		response.Write(w, response.NotFound())
	})
}
