package ingress

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

const apiVersion = "networking.k8s.io/v1"

// reconcile reads what Ingresses name, or writes the status of one.
func (c *Controller) reconcile(ctx context.Context, k store.Key) error {
	switch {
	case isIngress(k):
		return c.show(ctx, k)
	case isSecret(k):
		obj, err := c.cfg.API.Live(ctx, k, "v1")
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		s := secretOf(k.Name, obj)
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, is := c.secrets[k]; is {
			c.secrets[k] = s
		}
	default:
		obj, err := c.cfg.API.Live(ctx, k, "v1")
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		s := serviceOf(obj)
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, is := c.services[k]; is {
			c.services[k] = s
		}
	}
	c.changed()
	return nil
}

// serviceOf reads a Service. One that is not there has no UID.
func serviceOf(obj map[string]any) *Service {
	s := &Service{UID: fields.Clone(obj, "metadata", "uid")}
	for p := range fields.Maps(obj, "spec", "ports") {
		if protocol := fields.String(p, "protocol"); protocol != "" && protocol != "TCP" {
			continue
		}
		if n, ok := fields.Number(p["port"]); ok && n > 0 && n < 1<<16 {
			s.Ports = append(s.Ports, Port{fields.Clone(p, "name"), n, fields.Clone(p, "appProtocol")})
		}
	}
	return s
}

// secretOf reads a certificate. What is wrong with it says so without a word of what is in it.
func secretOf(name string, obj map[string]any) *secret {
	fail := func(why string) *secret { return &secret{err: fmt.Errorf("the Secret %s %s", name, why)} }
	if obj == nil {
		return fail("is not there")
	}
	data := fields.Map(obj, "data")
	chain, err1 := base64.StdEncoding.DecodeString(fields.String(data, "tls.crt"))
	key, err2 := base64.StdEncoding.DecodeString(fields.String(data, "tls.key"))
	if errors.Join(err1, err2) != nil || len(chain) == 0 || len(key) == 0 {
		return fail("has no certificate: kubectl create secret tls makes one")
	}
	is, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fail("has a certificate and a key that do not fit each other, or cannot be read")
	}
	return &secret{certificate: &is}
}

// show writes the address of an Ingress into its status, or takes it off one that is not served any more.
func (c *Controller) show(ctx context.Context, k store.Key) error {
	obj, err := c.cfg.API.Live(ctx, k, apiVersion)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	c.mu.Lock()
	in, address := c.ingresses[k], c.addresses[k]
	c.mu.Unlock()
	uid, is := fields.String(obj, "metadata", "uid"), shown(obj)
	switch {
	case in == nil && is != c.cfg.Address, in != nil && (in.UID != uid || is == address):
		return nil
	case in == nil:
		address = ""
	}
	var all []any
	if _, err := netip.ParseAddr(address); err == nil {
		all = []any{map[string]any{"ip": address}}
	} else if address != "" {
		all = []any{map[string]any{"hostname": address}}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": all}}})
	if err != nil {
		return err
	}
	_, err = c.cfg.API.Patch(ctx, k, apiVersion, "status", patch)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another write comes by
	}
	return err
}
