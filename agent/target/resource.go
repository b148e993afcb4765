package target

import (
	"net/url"

	"skerry.dev/skerry/store"
)

// Resource is one served kind: group, version and lower-case plural.
type Resource struct{ Group, Version, Plural string }

// Of returns the resource of a key at one API version, given as "v1" or "apps/v1".
func Of(k store.Key, apiVersion string) Resource {
	return Resource{Group: k.Group, Version: versionOf(apiVersion), Plural: k.Resource}
}

func versionOf(apiVersion string) string {
	for i := len(apiVersion) - 1; i >= 0; i-- {
		if apiVersion[i] == '/' {
			return apiVersion[i+1:]
		}
	}
	return apiVersion
}

// String returns plural.version.group, as kubectl takes it.
func (r Resource) String() string {
	s := r.Plural + "." + r.Version
	if r.Group != "" {
		s += "." + r.Group
	}
	return s
}

// Path returns the URL path below the endpoint. Namespace and name may be empty.
func (r Resource) Path(namespace, name string) string {
	p := "/apis/" + url.PathEscape(r.Group) + "/" + url.PathEscape(r.Version)
	if r.Group == "" {
		p = "/api/" + url.PathEscape(r.Version)
	}
	if namespace != "" {
		p += "/namespaces/" + url.PathEscape(namespace)
	}
	p += "/" + url.PathEscape(r.Plural)
	if name != "" {
		p += "/" + url.PathEscape(name)
	}
	return p
}
