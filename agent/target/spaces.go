package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Annotations of the namespace that holds the accounts of spaces.
const (
	// AnnotationCenter names the center whose spaces have their accounts there: the incarnation of
	// its data.
	AnnotationCenter = "skerry.dev/center"
	// AnnotationCenterSite says for people which site that is, and of which center: "NAME of
	// https://HOST:PORT".
	AnnotationCenterSite = "skerry.dev/center-site"
)

// SpacesOwner is whose spaces have accounts in a namespace.
type SpacesOwner struct {
	// Centers are the identities of the center, the present one first, then those that it had
	// before for the same site.
	Centers []string
	// Site says which site that is, for people.
	Site string
}

// namespace returns a namespace of accounts with the annotations of its owner.
func (o SpacesOwner) namespace(name string) map[string]any {
	annotations := map[string]any{AnnotationCenter: o.Centers[0], AnnotationCenterSite: o.Site}
	return map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "annotations": annotations}}
}

// ForeignSpacesError says that the namespace of accounts belongs to the spaces of another center.
type ForeignSpacesError struct {
	// Namespace that was asked for.
	Namespace string
	// Center and Site are what stands on it.
	Center, Site string
}

// Error says whose namespace it is, and the ways out.
func (f *ForeignSpacesError) Error() string {
	site := f.Site
	if site == "" {
		site = "a site that is not named"
	}
	return fmt.Sprintf("namespace %s at the site holds the accounts of another center's spaces: "+
		"of site %s (center %s). The site's admin gives this agent a namespace of its own "+
		"(skerry agent rbac --spaces-namespace skerry-NAME | kubectl apply -f -, and "+
		"spaces-namespace: skerry-NAME in the agent's configuration), or, when the other center "+
		"is gone for good, removes its annotation: kubectl annotate namespace %s %s-",
		f.Namespace, site, f.Center, f.Namespace, AnnotationCenter)
}

// HoldSpaces checks whose the namespace of accounts is. One that names no center, or a former one of
// this owner, gets the annotations of this owner. So does one of another center whose spaces have
// nothing at the cluster. It returns *ForeignSpacesError when it is another center's, and false
// when it does not exist.
func (c *Client) HoldSpaces(ctx context.Context, o SpacesOwner) (held bool, err error) {
	live, err := c.Get(ctx, namespaces, "", c.spaces, false)
	if apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look whose namespace %s is: %w", c.spaces, err)
	}
	center := live.Metadata.Annotations[AnnotationCenter]
	if center == o.Centers[0] {
		return true, nil
	}
	if center != "" && !slices.Contains(o.Centers, center) {
		used, err := c.BoundAccounts(ctx, c.spaces)
		if err != nil {
			return false, fmt.Errorf("look whether the accounts in namespace %s are used: %w", c.spaces, err)
		}
		if used != "" {
			site := live.Metadata.Annotations[AnnotationCenterSite]
			return false, &ForeignSpacesError{c.spaces, center, site}
		}
	}
	body, err := encode(o.namespace(c.spaces))
	if err != nil {
		return false, err
	}
	on := Applying{UID: live.Metadata.UID, ResourceVersion: live.Metadata.ResourceVersion, Unmarked: true}
	_, _, err = c.Apply(ctx, namespaces, "", c.spaces, body, on)
	if err != nil {
		return false, fmt.Errorf("annotate namespace %s: %w", c.spaces, err)
	}
	return true, nil
}

// AccountRefusedError is a write that the target's RBAC refused to the account of a space. A
// binding counts some moments after it was made.
type AccountRefusedError struct{ refusal error }

// Error is the target's answer.
func (a *AccountRefusedError) Error() string { return a.refusal.Error() }

// Unwrap returns the target's answer.
func (a *AccountRefusedError) Unwrap() error { return a.refusal }

// Rebind lets the roles of a space in a namespace speak of the account that it has now: the site's
// admin has changed the namespace of accounts. Bindings that are missing, or speak of anything
// else, stay as they are.
func (c *Client) Rebind(ctx context.Context, space, namespace string) error {
	for _, role := range []string{SpaceRole, DefinitionsRole, ControllersRole} {
		var live binding
		path := rbac("rolebindings").Path(namespace, role)
		_, err := c.call(ctx, http.MethodGet, path, nil, "", nil, &live)
		if apierrors.IsNotFound(err) || errors.Is(err, ErrNotServed) {
			continue
		} else if err != nil {
			return err
		}
		if len(live.Subjects) != 1 {
			continue
		}
		if s := live.Subjects[0]; s.Kind != "ServiceAccount" || s.Name != space || s.Namespace == c.spaces {
			continue
		}
		body, err := encode(c.roleBinding(role, space, namespace))
		if err != nil {
			return err
		}
		on := Applying{UID: live.Metadata.UID, ResourceVersion: live.Metadata.ResourceVersion, Unmarked: true}
		if _, _, err = c.Apply(ctx, rbac("rolebindings"), namespace, role, body, on); err != nil {
			return fmt.Errorf("bind %s in namespace %s to the account of space %s in %s: %w",
				role, namespace, space, c.spaces, err)
		}
	}
	return nil
}
