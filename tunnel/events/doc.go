// Package events asks targets for the Events about one object of a space, also the ordinary ones,
// which no target reports by itself. A center asks for what a client lists, a relay for its parent.
//
//	places := events.Places("Pod", name, uid, annotations)
//	list := events.List(ctx, targets, request, places)
//	for _, e := range list.Events { ... }   // each with the place that it comes from
//	for _, text := range list.Lacks { ... } // what the list lacks, and why
//
// Life of a list:
//
//  1. The annotations of the object say at which targets it is. Each gets one view (exchange.View) with
//     exchange.OptionAbout, side by side, and little time.
//  2. The names of what they answer become those that a reported Event has in the space ([Name]),
//     so that an Event which was reported, too, is known again.
//  3. A target that is away, refuses or is late is named with its reason.
//
// It knows no space's API, and not who may ask.
package events
