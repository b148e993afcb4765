// Package metadata reads and writes the metadata of objects of any kind: their annotations, the
// identity that an imported object brings, and whether a target reported the object.
//
//	obj := metadata.Of(o)                                            // nil where o has no metadata
//	target, reported := metadata.Annotation(obj, v1alpha1.AnnotationReportedFrom)
//
// A reported object only shows what runs on a target. The center writes it; users get ErrReported.
package metadata
