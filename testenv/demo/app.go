package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

func (d *demo) status(ctx context.Context) (string, error) {
	if err := d.rolledOut(ctx, d.shop, "store"); err != nil {
		return "", err
	}
	if err := d.pods(ctx, d.shop, "store", 4); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"get", "-n", "store", "deployments,statefulsets,services,ingresses,coupons"},
		{"get", "-n", "store", "pods", "-o", "wide"},
		{"get", "-n", "store", "deployment", "web", "-o", `jsonpath=web is on: {.metadata.annotations.skerry\.dev/targets}`},
	} {
		if err := d.print(ctx, d.shop, args...); err != nil {
			return "", err
		}
	}
	return "rollout status, pods and place, exact", nil
}

func (d *demo) rolledOut(ctx context.Context, kubeconfig, namespace string) error {
	for _, w := range []string{"deployment/web", "deployment/api", "statefulset/db"} {
		if _, err := d.K(ctx, kubeconfig, "rollout", "status", "-n", namespace, w, "--timeout=60s"); err != nil {
			return err
		}
	}
	return nil
}

// pods waits until the space shows n running pods in a namespace.
func (d *demo) pods(ctx context.Context, kubeconfig, namespace string, n int) error {
	return drive.Until(ctx, 20*time.Second, "pods in the space", func(ctx context.Context) error {
		out, err := d.K(ctx, kubeconfig, "get", "-n", namespace, "pods", "--field-selector=status.phase=Running", "-o",
			"name")
		if err == nil && strings.Count(out, "pod/") != n {
			err = fmt.Errorf("%d running pods instead of %d", strings.Count(out, "pod/"), n)
		}
		return err
	})
}

func (d *demo) onCluster(ctx context.Context) (string, error) {
	if err := d.print(ctx, d.kubeconfigs[d.here], "get", "-n", "store",
		"pods,persistentvolumeclaims,coupons"); err != nil {
		return "", err
	}
	if d.kind != "real" {
		return "pods of a simulated cluster", nil
	}
	return d.askWeb(ctx, d.here)
}

// askWeb asks the web tier by its service name from inside a pod of it.
func (d *demo) askWeb(ctx context.Context, cluster string) (string, error) {
	var answer string
	err := drive.Until(ctx, 15*time.Second, "ask the service by name", func(ctx context.Context) (err error) {
		answer, err = d.K(ctx, d.kubeconfigs[cluster], "exec", "-n", "store", "deployment/web", "--", "/app", "get",
			"http://web/")
		if err == nil && !strings.Contains(answer, "Welcome to the shop") {
			err = fmt.Errorf("unexpected answer %q", answer)
		}
		return err
	})
	d.show("get http://web/  (in a pod of "+cluster+")", answer)
	return "pods run; the service answers by name", err
}

// refusedMove asks for a move of the whole namespace. The database's volume cannot come along, so
// nothing moves and the space says why.
func (d *demo) refusedMove(ctx context.Context) (string, error) {
	if err := d.print(ctx, d.shop, "label", "namespace", "store", "skerry.dev/target="+d.there); err != nil {
		return "", err
	}
	const moving = `jsonpath={.status.conditions[?(@.type=="skerry.dev/Moving")]['status','reason','message']}`
	err := drive.Until(ctx, 10*time.Second, "the refusal", func(ctx context.Context) error {
		out, err := d.K(ctx, d.shop, "get", "namespace", "store", "-o", moving)
		if err == nil && !strings.Contains(out, "VolumeWouldStay") {
			err = fmt.Errorf("the condition Moving is %q", out)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return "nothing moved, the condition says why and what to do", d.print(ctx, d.shop, "get", "namespace", "store",
		"-o", moving)
}

// move pins the database and watches both clusters until the old copy is gone: at no time may both
// be without an available copy.
func (d *demo) move(ctx context.Context) (string, error) {
	if err := d.print(ctx, d.shop, "label", "-n", "store", "statefulset", "db", "skerry.dev/target="+d.here); err != nil {
		return "", err
	}
	began := time.Now()
	var arrived time.Duration
	err := drive.Until(ctx, 90*time.Second, "move", func(ctx context.Context) error {
		old, err := d.available(ctx, d.here)
		if err != nil {
			return err
		}
		now, err := d.available(ctx, d.there)
		if err != nil {
			return err
		}
		if now > 0 && arrived == 0 {
			arrived = time.Since(began)
			fmt.Fprintf(d.out, "          after %4.1fs: available in both\n", arrived.Seconds())
		}
		switch {
		case old == 0 && arrived == 0:
			return errGap
		case old > 0:
			return fmt.Errorf("%d available in %s, %d in %s", old, d.here, now, d.there)
		case now == 0:
			return errGap
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(d.out, "          after %4.1fs: gone from %s\n", time.Since(began).Seconds(), d.here)
	return fmt.Sprintf("new copy available after %.1fs, the old one left after that", arrived.Seconds()),
		d.rolledOut(ctx, d.shop, "store")
}

var errGap = errors.New("no available copy anywhere")

// available is how many replicas of the web tier are available in a cluster.
func (d *demo) available(ctx context.Context, cluster string) (int, error) {
	out, err := d.K(ctx, d.kubeconfigs[cluster], "get", "-n", "store", "deployment", "web", "--ignore-not-found", "-o",
		"jsonpath={.status.availableReplicas}")
	if err != nil || strings.TrimSpace(out) == "" {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

func (d *demo) afterMove(ctx context.Context) (string, error) {
	if err := d.pods(ctx, d.shop, "store", 4); err != nil {
		return "", err
	}
	for _, c := range []string{d.here, d.there} {
		fmt.Fprintf(d.out, "          %s:\n", c)
		if err := d.print(ctx, d.kubeconfigs[c], "get", "-n", "store", "deployments,statefulsets,pods"); err != nil {
			return "", err
		}
	}
	if out, err := d.K(ctx, d.kubeconfigs[d.here], "get", "-n", "store", "statefulset", "db", "-o",
		"jsonpath={.status.readyReplicas}"); err != nil || out != "1" {
		return "", fmt.Errorf("the database should have stayed with its volume: %q %w", out, err)
	}
	if d.kind == "real" {
		if _, err := d.askWeb(ctx, d.there); err != nil {
			return "", err
		}
	}
	return "the web and api tiers moved, the database stayed with its volume", nil
}

func (d *demo) joinRelay(ctx context.Context) (string, error) {
	token, err := d.Token(ctx, d.center)
	if err != nil {
		return "", err
	}
	d.relay, err = d.StartCenter(ctx, "relay", "", "--parent", "https://"+d.center.Address, "--token", token, "--name",
		"nordic")
	if err != nil {
		return "", err
	}
	d.stop = append(d.stop, d.relay.Stop)
	p, err := d.StartAgent(ctx, d.relay, oslo, d.kubeconfigs[oslo])
	if err != nil {
		return "", err
	}
	d.stop = append(d.stop, p.Stop)
	if err := d.connected(ctx, d.center, "nordic"); err != nil {
		return "", err
	}
	if err := d.connected(ctx, d.relay, oslo); err != nil {
		return "", err
	}
	return "center <- relay nordic <- " + oslo, d.print(ctx, d.center.Kubeconfig, "get", "synctargets")
}

func (d *demo) throughRelay(ctx context.Context) (string, error) {
	manifests := strings.Replace(d.manifests("north"), "metadata:\n  name: north\n", "metadata:\n  name: north\n  "+
		"labels: {skerry.dev/target: nordic}\n", 1)
	if _, err := d.Apply(ctx, d.shop, manifests); err != nil {
		return "", err
	}
	if err := d.rolledOut(ctx, d.shop, "north"); err != nil {
		return "", err
	}
	if err := d.pods(ctx, d.shop, "north", 4); err != nil {
		return "", err
	}
	fmt.Fprintln(d.out, "          at the top, two tiers above the pods:")
	if err := d.print(ctx, d.shop, "get", "-n", "north", "deployments,statefulsets,pods"); err != nil {
		return "", err
	}
	return "exact status two tiers up", d.print(ctx, d.kubeconfigs[oslo], "get", "-n", "north", "deployments,pods")
}
