package storage

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// slowStorage holds one object. Something else is written after the first of its writes was judged,
// and before anybody can see it.
type slowStorage struct {
	storage.Interface
	stored runtime.Object
	beside func()
}

func (s *slowStorage) once() {
	if beside := s.beside; beside != nil {
		s.beside = nil
		beside()
	}
}

func (s *slowStorage) Create(_ context.Context, _ string, obj, out runtime.Object, _ uint64) error {
	s.once()
	s.stored = obj.DeepCopyObject()
	s.give(out)
	return nil
}

func (s *slowStorage) Delete(
	context.Context,
	string,
	runtime.Object,
	*storage.Preconditions,
	storage.ValidateObjectFunc,
	runtime.Object,
	storage.DeleteOptions,
) error {
	s.stored = nil
	return nil
}

func (s *slowStorage) GuaranteedUpdate(
	_ context.Context,
	_ string,
	out runtime.Object,
	_ bool,
	_ *storage.Preconditions,
	update storage.UpdateFunc,
	_ runtime.Object,
) error {
	next, _, err := update(s.stored.DeepCopyObject(), storage.ResponseMeta{ResourceVersion: 7})
	if err != nil {
		return err
	}
	s.once()
	s.stored = next
	s.give(out)
	return nil
}

func (s *slowStorage) give(out runtime.Object) {
	switch to := out.(type) {
	case *unstructured.Unstructured:
		to.Object = s.stored.DeepCopyObject().(*unstructured.Unstructured).Object
	case *apiextensions.CustomResourceDefinition:
		*to = *s.stored.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
	}
}
