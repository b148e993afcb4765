package admin

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// subject is whom a role is given to: a user, or a group of an OIDC provider.
type subject struct {
	name    string
	isGroup bool
}

func (s subject) String() string {
	if s.isGroup {
		return "group " + s.name
	}
	return s.name
}

func (s subject) kind() string {
	if s.isGroup {
		return rbacv1.GroupKind
	}
	return rbacv1.UserKind
}

// key tells subjects apart in labels and in names of bindings.
func (s subject) key() string {
	if s.isGroup {
		return "group:" + s.name
	}
	return s.name
}

func (s subject) rbac() rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: s.kind(), Name: s.name}
}

// checkSubject refuses names that only Kubernetes gives.
func checkSubject(s subject) error {
	if !strings.HasPrefix(s.name, "system:") {
		return nil
	}
	flag := "--user"
	if s.isGroup {
		flag = "--group"
	}
	return Usage("%s %q: names that begin with system: are Kubernetes' own; use another name", flag, s.name)
}
