package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// users are the users of one space: accounts in v1alpha1.UsersNamespace, and bindings.
type users struct {
	space string
	api   kubernetes.Interface
	dry   []string // what every write asks for: nothing, or a dry run
}

// openUsers is users of the center that a kubeconfig leads to.
func openUsers(ctx context.Context, kubeconfig, space string, dryRun bool) (*users, error) {
	c, err := open(kubeconfig)
	if err != nil {
		return nil, err
	}
	return c.users(ctx, space, dryRun)
}

func (c *center) users(ctx context.Context, space string, dryRun bool) (*users, error) {
	if err := c.mustExist(ctx, space); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(c.config)
	config.Host = c.spaceURL(space)
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for space %s: %w", space, err)
	}
	u := &users{space: space, api: api}
	if dryRun {
		u.dry = []string{metav1.DryRunAll}
	}
	return u, nil
}

// binding is a RoleBinding, or a ClusterRoleBinding if it has no namespace.
type binding struct {
	metav1.ObjectMeta
	role     rbacv1.RoleRef
	subjects []rbacv1.Subject
}

func (b binding) names(user subject) bool {
	return slices.ContainsFunc(
		b.subjects,
		func(s rbacv1.Subject) bool { return s.Kind == user.kind() && s.Name == user.name },
	)
}

// granted reports whether `skerry space` made the binding for the user.
func (b binding) granted(user subject) bool {
	return b.Labels[v1alpha1.LabelUser] == userLabel(user.key()) && b.names(user)
}

func (b binding) String() string {
	if b.Namespace == "" {
		return "clusterrolebinding/" + b.Name
	}
	return "rolebinding/" + b.Name + " of namespace " + b.Namespace
}

// userLabel is the value of v1alpha1.LabelUser for a user.
func userLabel(user string) string {
	if len(validation.IsValidLabelValue(user)) == 0 {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// bindings lists all bindings of the space.
func (u *users) bindings(ctx context.Context) ([]binding, error) {
	cluster, err := u.api.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the bindings of space %s: %w", u.space, err)
	}
	named, err := u.api.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the bindings of space %s: %w", u.space, err)
	}
	var out []binding
	for _, b := range cluster.Items {
		out = append(out, binding{b.ObjectMeta, b.RoleRef, b.Subjects})
	}
	for _, b := range named.Items {
		out = append(out, binding{b.ObjectMeta, b.RoleRef, b.Subjects})
	}
	return out, nil
}

// accounts lists the accounts that stand for users.
func (u *users) accounts(ctx context.Context) ([]corev1.ServiceAccount, error) {
	list, err := u.api.CoreV1().ServiceAccounts(v1alpha1.UsersNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the users of space %s: %w", u.space, err)
	}
	return slices.DeleteFunc(list.Items, func(a corev1.ServiceAccount) bool { return a.Name == "default" }), nil
}

// User is a line of `skerry space users`: one role of a user, or of a group of an OIDC provider.
type User struct {
	User string `json:"user"`
	// IsGroup says that User is a group.
	IsGroup bool `json:"isGroup,omitempty"`
	// Role is empty for a user who has a kubeconfig and no role.
	Role string `json:"role,omitempty"`
	// Namespace is the only one in which the role counts; empty means all.
	Namespace string `json:"namespace,omitempty"`
	Binding   string `json:"binding,omitempty"`
	// Granted says that `skerry space` made the binding.
	Granted bool `json:"granted"`
	// Account says that the space itself hands out this user's kubeconfigs.
	Account bool `json:"account"`
}

// ListUsers prints who has which role in a space.
func ListUsers(ctx context.Context, space string, o ListOptions) error {
	if err := checkListOutput(o.Output); err != nil {
		return err
	}
	u, err := openUsers(ctx, o.Kubeconfig, space, false)
	if err != nil {
		return err
	}
	list, err := u.list(ctx)
	if err != nil {
		return err
	}
	table, wide := isTable(o.Output)
	if !table {
		return printData(o.Out, o.Output, list, func() (names []string) {
			for _, x := range list {
				names = append(names, x.User)
			}
			return slices.Compact(names)
		})
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprint(w, "USER\tROLE\tNAMESPACE\tKUBECONFIG\tBINDING")
	if wide {
		fmt.Fprint(w, "\tGRANTED")
	}
	fmt.Fprintln(w)
	for _, x := range list {
		account := "-"
		if x.Account {
			account = "of this space"
		}
		fmt.Fprintf(
			w,
			"%s\t%s\t%s\t%s\t%s",
			subject{x.User, x.IsGroup},
			orElse(x.Role, "-"),
			orElse(x.Namespace, "*"),
			account,
			orElse(x.Binding, "-"),
		)
		if wide {
			fmt.Fprintf(w, "\t%t", x.Granted)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func (u *users) list(ctx context.Context) ([]User, error) {
	bindings, err := u.bindings(ctx)
	if err != nil {
		return nil, err
	}
	accounts, err := u.accounts(ctx)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, a := range accounts {
		has[a.Name] = true
	}
	out, bound := []User{}, map[string]bool{}
	for _, b := range bindings {
		for _, s := range b.subjects {
			who := subject{s.Name, s.Kind == rbacv1.GroupKind}
			if s.Kind != who.kind() || strings.HasPrefix(s.Name, "system:") {
				continue
			}
			bound[s.Name] = bound[s.Name] || !who.isGroup
			out = append(
				out,
				User{
					User:      s.Name,
					IsGroup:   who.isGroup,
					Role:      b.role.Name,
					Namespace: b.Namespace,
					Binding:   b.Name,
					Granted:   b.granted(who),
					Account:   has[s.Name] && !who.isGroup,
				},
			)
		}
	}
	for _, a := range accounts {
		if !bound[a.Name] {
			out = append(out, User{User: a.Name, Account: true})
		}
	}
	slices.SortStableFunc(
		out,
		func(a, b User) int { return strings.Compare(a.User+"\x00"+a.Namespace, b.User+"\x00"+b.Namespace) },
	)
	return out, nil
}
