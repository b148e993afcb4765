package delivery

import (
	"slices"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// connect takes over what a workload's pods name, and returns the objects for which that changed.
func (s *step) connect(o *object, r reading) []*object {
	d := s.d
	var touched []*object
	if !o.namesExactly(r.names) {
		touched = s.disconnect(o)
		for _, k := range r.names {
			dep := d.place(d.namespaceOf(o.ns.space, k.Namespace), d.kindOf(store.Write{Key: k}), k.Name)
			dep.needWork().namedBy = append(dep.work.namedBy, o)
			o.needWork().names = append(o.work.names, dep)
			touched = append(touched, dep)
		}
		for _, dep := range touched {
			d.forget(dep)
		}
	}
	if r.replicas != 0 || r.templates || r.account.Name != "" || o.work != nil {
		w := o.needWork()
		w.replicas, w.templates, w.account, w.said = r.replicas, r.templates, r.account, r.podAPISaid
	}
	return touched
}

func (o *object) namesExactly(keys []store.Key) bool {
	if o.work == nil {
		return len(keys) == 0
	}
	return slices.EqualFunc(o.work.names, keys, func(dep *object, k store.Key) bool { return dep.key() == k })
}

// disconnect takes back what the object names, and returns it.
func (s *step) disconnect(o *object) []*object {
	if o.work == nil {
		return nil
	}
	names := o.work.names
	for _, dep := range names {
		dep.work.namedBy = slices.DeleteFunc(dep.work.namedBy, func(w *object) bool { return w == o })
		dep.dropWork()
	}
	o.work.names = nil
	if !o.present {
		o.work.replicas, o.work.templates, o.work.account = 0, false, placement.PodAccount{}
	}
	o.dropWork()
	return names
}

func (o *object) needWork() *work {
	if o.work == nil {
		o.work = &work{}
	}
	return o.work
}

// dropWork saves the memory of what says nothing.
func (o *object) dropWork() {
	if w := o.work; w != nil && len(w.names) == 0 && len(w.namedBy) == 0 && w.replicas == 0 && !w.templates &&
		w.account.Name == "" {
		o.work = nil
	}
}
