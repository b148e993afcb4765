// Package events serves the Events of spaces, and shows with those about one object, a kind, or a namespace
// what the sites say where these are. A site reports warnings alone; kubectl describe shows the ordinary ones, too.
//
//	objects := events.New(sites)
//	objects.Use("apps", storages) // for each group: where objects are looked up
//	objects.Wrap(storages)        // of the core group, and of events.k8s.io
//
// Life of a list:
//
//  1. The stored Events are listed, as ever. If the field selector names one object in one
//     namespace, or a kind, or if somebody lists all of a namespace, and no controller of the
//     center asks, the object is looked up in the space, or all of these. The newest are asked about.
//  2. Its annotations say at which targets it is. Those are asked, live and for 3 s at most
//     (tunnel/events).
//  3. What they say becomes Events of the space: its names, its UIDs, the annotation
//     skerry.dev/reported-from. Those that are stored already are left out, by their names, as is
//     what the selectors leave out.
//  4. A target that says nothing is a warning. The stored Events are the answer then.
//
// Nothing is stored. A watch, a list that fills a cache, and one of all namespaces ask nobody. Where
// that is empty, a warning says how to ask.
package events
