package usage

import (
	"encoding/json"
	"fmt"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// The API of a cluster that says what its Pods use.
const (
	Group    = "metrics.k8s.io"
	Version  = "v1beta1"
	Resource = "pods"
)

// Asks reports whether a view reads what Pods use.
func Asks(r *exchange.Request) bool {
	q := r.Query
	return r.Verb == exchange.View && !r.Watches() && q.Get(exchange.OptionGroup) == Group &&
		q.Get(exchange.OptionVersion) == Version && q.Get(exchange.OptionResource) == Resource
}

// Pod is a Pod of a space, and where it runs.
type Pod struct {
	Namespace, Name string
	Place           exchange.Place
}

// Metrics are what a Pod uses, in the form of metrics.k8s.io/v1beta1.
type Metrics struct {
	Metadata Metadata `json:"metadata"`
	// Timestamp is the end of the time that was measured, Window its length: "30s".
	Timestamp  time.Time   `json:"timestamp"`
	Window     string      `json:"window"`
	Containers []Container `json:"containers"`
}

// Metadata name the Pod.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Container is what one container of a Pod uses: quantities such as "7m", by resource.
type Container struct {
	Name  string            `json:"name"`
	Usage map[string]string `json:"usage"`
}

// document is a Metrics, or a list of them, as it is sent.
type document struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   struct{}  `json:"metadata"`
	Items      []Metrics `json:"items"`
}

// EncodeList returns a PodMetricsList as a view has it.
func EncodeList(all []Metrics) ([]byte, error) {
	if all == nil {
		all = []Metrics{}
	}
	return json.Marshal(document{APIVersion: Group + "/" + Version, Kind: "PodMetricsList", Items: all})
}

// Encode returns a PodMetrics as a view has it.
func Encode(one Metrics) ([]byte, error) {
	return json.Marshal(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metrics
	}{Group + "/" + Version, "PodMetrics", one})
}

// Decode reads a PodMetricsList, or of one Pod a PodMetrics. Its error wraps exchange.ErrAnswer.
func Decode(text []byte, list bool) ([]Metrics, error) {
	if list {
		var all document
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, fmt.Errorf("%w: no PodMetricsList: %w", exchange.ErrAnswer, err)
		}
		return all.Items, nil
	}
	var one Metrics
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, fmt.Errorf("%w: no PodMetrics: %w", exchange.ErrAnswer, err)
	}
	return []Metrics{one}, nil
}
