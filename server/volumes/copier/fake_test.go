package copier

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// fakeSpace is a space at whose targets Deployments have a Pod at once, and programs run that say what a test wants.
type fakeSpace struct {
	*fake.Clientset
	t *testing.T

	mu    sync.Mutex
	rest  *rest.RESTClient
	runs  []string                              // "POD COMMAND" of what has begun, without the ends of names
	now   map[string]int                        // how many run in a Pod
	round func(n int, live bool) (int64, error) // what the sender of the nth round has sent; waits as long as it takes
	n     int
	woken int
	// commands are what was run, and settled is what a standby says that it holds.
	commands []string
	settled  string
	podless  bool // no Pod comes
}

func (f *fakeSpace) CoreV1() typed.CoreV1Interface { return fakeCore{f.Clientset.CoreV1(), f.rest} }

type fakeCore struct {
	typed.CoreV1Interface
	rest *rest.RESTClient
}

func (c fakeCore) RESTClient() rest.Interface { return c.rest }

func (f *fakeSpace) Get(ctx context.Context, k store.Key, _ string) (map[string]any, error) {
	var o any
	var err error
	switch k.Resource {
	case "deployments":
		o, err = f.AppsV1().Deployments(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	case "persistentvolumeclaims":
		o, err = f.CoreV1().PersistentVolumeClaims(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	case "statefulsets":
		o, err = f.AppsV1().StatefulSets(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
	default:
		err = apierrors.NewNotFound(corev1.Resource(k.Resource), k.Name)
	}
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(o)
}

func (f *fakeSpace) Create(ctx context.Context, k store.Key, _ string, o map[string]any) (map[string]any, error) {
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, d); err != nil {
		return nil, err
	}
	if _, err := f.AppsV1().Deployments(k.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		return o, nil
	}
	return o, f.pod(ctx, d)
}

// pod is that of a Deployment, which runs at its target.
func (f *fakeSpace) pod(ctx context.Context, d *appsv1.Deployment) error {
	_, err := f.CoreV1().Pods(d.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: d.Name + "-pod", Namespace: d.Namespace, Labels: d.Spec.Template.Labels,
			Annotations: map[string]string{v1alpha1.AnnotationReportedFrom: d.Labels[v1alpha1.LabelTarget]}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}, metav1.CreateOptions{})
	return err
}

func (f *fakeSpace) Patch(
	ctx context.Context, k store.Key, _, _ string, patch []byte,
) (map[string]any, error) {
	d, err := f.AppsV1().Deployments(k.Namespace).Patch(ctx, k.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	f.woken++
	name := d.Name + "-pod"
	if *d.Spec.Replicas == 0 {
		err := f.CoreV1().Pods(d.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		return nil, ignored(err, apierrors.IsNotFound)
	}
	f.mu.Lock()
	podless := f.podless
	f.mu.Unlock()
	if podless {
		return nil, nil
	}
	return nil, ignored(f.pod(ctx, d), apierrors.IsAlreadyExists)
}

func ignored(err error, is func(error) bool) error {
	if is(err) {
		return nil
	}
	return err
}

// program is one that runs in a Pod.
type program struct {
	f   *fakeSpace
	pod string
	url *url.URL
}

func (f *fakeSpace) exec(r *rest.Request) (remotecommand.Executor, error) {
	part := strings.Split(r.URL().Path, "/")
	return &program{f, part[len(part)-2], r.URL()}, nil
}

func (p *program) Stream(o remotecommand.StreamOptions) error {
	return p.StreamWithContext(context.Background(), o)
}

func (p *program) StreamWithContext(ctx context.Context, o remotecommand.StreamOptions) error {
	command := p.url.Query()["command"]
	p.f.mu.Lock()
	if p.f.now[p.pod]++; p.f.now[p.pod] > 1 {
		p.f.t.Errorf("%d programs at once in %s", p.f.now[p.pod], p.pod)
	}
	p.f.mu.Unlock()
	defer func() {
		p.f.mu.Lock()
		p.f.now[p.pod]--
		p.f.mu.Unlock()
	}()
	p.f.mu.Lock()
	p.f.commands = append(p.f.commands, strings.Join(command[2:len(command)-1], " "))
	settled := p.f.settled
	p.f.mu.Unlock()
	if command[2] == "settle" {
		_, err := io.WriteString(o.Stdout, settled+"\n")
		return err
	}
	if command[2] == "receive" { // it ends with the sender
		_, err := o.Stdin.Read(make([]byte, 1))
		if ctx.Err() != nil || err == nil {
			return context.Canceled
		}
		return nil
	}
	live := slices.Contains(command, "--live")
	p.f.mu.Lock()
	p.f.n++
	n := p.f.n
	p.f.runs = append(p.f.runs, fmt.Sprintf("%s live=%t", strings.SplitN(p.pod, "-", 3)[1], live))
	p.f.mu.Unlock()
	type result struct {
		sent int64
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		sent, err := p.f.round(n, live)
		ended <- result{sent, err}
	}()
	select {
	case <-ctx.Done():
		<-ended
		return ctx.Err()
	case r := <-ended:
		if r.err != nil {
			return r.err
		}
		line, _ := json.Marshal(report{Bytes: 2 * r.sent, Sent: r.sent})
		_, err := o.Stderr.Write(append(line, '\n'))
		return err
	}
}
