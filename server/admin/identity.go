package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/period"
)

// KubeconfigOptions say for whom, and for which space, a kubeconfig is made.
type KubeconfigOptions struct {
	Kubeconfig string
	Space      string
	User       string
	Role       string // empty means the one that the user has, else defaultRole
	Namespace  string // the only one in which the role counts; empty means all
	TTL        time.Duration
	// Renewable lets the holder renew the token until the user is revoked.
	Renewable bool
	// ByHost names the space by its own host instead of by a path.
	ByHost bool
	// At names the targets, with slashes between them, whose live view is wanted in place of the
	// space itself; empty for the space.
	At string
	// File is written with mode 0600; empty means that the kubeconfig is printed.
	File string
	Out  io.Writer
}

func (o KubeconfigOptions) check() error {
	if errs := validation.IsDNS1123Subdomain(o.User); len(errs) > 0 || o.User == "default" {
		return Usage(
			"--user %q cannot have a kubeconfig of the space: use lower-case letters, digits, '-' and '.', and not default",
			o.User,
		)
	}
	if o.TTL < shortestTokenLife || o.TTL > longestTokenLife {
		return Usage("--ttl %s: write a duration between %s and %s",
			period.Format(o.TTL), period.Format(shortestTokenLife), period.Format(longestTokenLife))
	}
	if o.Role != "" && !slices.Contains(grantable, o.Role) {
		return Usage("--role %q: use %s", o.Role, strings.Join(grantable, ", "))
	}
	return checkAt(o.At)
}

// SpaceKubeconfig makes a user of one space and writes a kubeconfig with a token of theirs. The
// caller's own credentials are not in it.
func SpaceKubeconfig(ctx context.Context, o KubeconfigOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	if err := mayReplace(o.File, contextAt(o.Space, o.At)); err != nil {
		return err
	}
	if err := c.mustHaveSite(ctx, o.At); err != nil {
		return err
	}
	u, err := c.users(ctx, o.Space, false)
	if err != nil {
		return err
	}
	token, err := u.identity(ctx, o)
	if err != nil {
		return err
	}
	config, err := c.forUser(o.Space, o.At, o.Namespace, o.User, &clientcmdapi.AuthInfo{Token: token.Status.Token})
	if err != nil {
		return err
	}
	if o.ByHost {
		if err := c.byHost(ctx, o, config); err != nil {
			return err
		}
	}
	return o.write(config, token.Status.ExpirationTimestamp.Time)
}

// mayReplace refuses a file that holds more than an older kubeconfig with the same context.
func mayReplace(file, context string) error {
	if file == "" || file == "-" {
		return nil
	}
	old, err := clientcmd.LoadFromFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-o %s: this file is no kubeconfig; name another one: %w", file, err)
	case len(old.Contexts) == 0 && !isEmpty(file):
		return fmt.Errorf("-o %s: this file is no kubeconfig; name another one", file)
	case len(old.Contexts) > 1 || len(old.Contexts) == 1 && old.Contexts[context] == nil:
		return fmt.Errorf("-o %s: this file has other contexts than %q; name another one", file, context)
	}
	return nil
}

func isEmpty(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() == 0
}

func (o KubeconfigOptions) write(config *clientcmdapi.Config, until time.Time) error {
	if o.File == "" || o.File == "-" {
		data, err := clientcmd.Write(*config)
		if err != nil {
			return fmt.Errorf("encode kubeconfig: %w", err)
		}
		_, err = o.Out.Write(data)
		return err
	}
	if err := replaceFile(o.File, config); err != nil {
		return err
	}
	renewed := ""
	if o.Renewable {
		renewed = " (skerry space use renews it)"
	}
	_, err := fmt.Fprintf(
		o.Out,
		"%s is for user %s of space %s, until %s%s. End it before:  skerry space revoke %[3]s --user %[2]s\n",
		o.File,
		o.User,
		o.Space,
		until.UTC().Format(time.RFC3339),
		renewed,
	)
	return err
}

// identity makes the user's account where it is missing, sees to their role, and requests a token.
func (u *users) identity(ctx context.Context, o KubeconfigOptions) (*authenticationv1.TokenRequest, error) {
	if err := u.account(ctx, o.User); err != nil {
		return nil, err
	}
	if o.Renewable {
		if err := u.makeRenewable(ctx, o.User); err != nil {
			return nil, err
		}
	}
	role := o.Role
	if role == "" {
		all, err := u.bindings(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(b binding) bool { return b.names(subject{name: o.User}) }) {
			role = defaultRole
		}
	}
	if role != "" {
		if err := u.grant(ctx, subject{name: o.User}, role, o.Namespace); err != nil {
			return nil, err
		}
	}
	seconds := int64(o.TTL / time.Second)
	token, err := u.api.CoreV1().ServiceAccounts(v1alpha1.UsersNamespace).CreateToken(
		ctx,
		o.User,
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
		},
		metav1.CreateOptions{},
	)
	if err != nil {
		return nil, fmt.Errorf("request a token for %s in space %s: %w", o.User, u.space, err)
	}
	return token, nil
}

// makeRenewable lets the user request tokens for their account themselves.
func (u *users) makeRenewable(ctx context.Context, user string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationRenewable)
	_, err := u.api.CoreV1().ServiceAccounts(v1alpha1.UsersNamespace).Patch(ctx, user, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "skerry-cli"})
	if err != nil {
		return fmt.Errorf("let %s renew tokens in space %s: %w", user, u.space, err)
	}
	return nil
}

func (u *users) account(ctx context.Context, user string) error {
	accounts := u.api.CoreV1().ServiceAccounts(v1alpha1.UsersNamespace)
	_, err := accounts.Get(ctx, user, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read the account of %s in space %s: %w", user, u.space, err)
	}
	options := metav1.CreateOptions{FieldManager: "skerry-cli"}
	_, err = u.api.CoreV1().Namespaces().Create(
		ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.UsersNamespace}},
		options,
	)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace of the users of space %s: %w", u.space, err)
	}
	_, err = accounts.Create(
		ctx,
		&corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Name: user, Labels: map[string]string{v1alpha1.LabelUser: userLabel(user)}},
		},
		options,
	)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the account of %s in space %s: %w", user, u.space, err)
	}
	return nil
}
