// Package registrykey knows the keys under which the kube API stores objects:
//
//	/registry/<resource>/<space>/[<namespace>/]<name>
//
//	key, ok := registrykey.Parse(native, string(kv.Key)) // what a key names; ok is false for no object
//	data = registrykey.Put(kv.Key, kv.Value)             // for readers that see the value alone
//	k, value := registrykey.Cut(data)                    // the inverse
//
// It is pure, because what decodes is fuzzed: to fuzz a package that links Kubernetes compiles all
// of Kubernetes again.
package registrykey
