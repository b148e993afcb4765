package replicasetdiff

import "reflect"

// replaceable is a predicted text that an object may have another one for.
type replaceable string

// subtract is what has to be added to base to get object. It is false when base has something that
// object has not.
func subtract(object, base map[string]any) (map[string]any, bool) {
	rest := map[string]any{}
	for field, was := range base {
		now, ok := object[field]
		if !ok {
			return nil, false
		}
		part, ok := difference(now, was)
		if !ok {
			return nil, false
		}
		if part != nil {
			rest[field] = part
		}
	}
	for field, now := range object {
		if _, known := base[field]; !known {
			rest[field] = now
		}
	}
	return rest, true
}

// difference is subtract for any value; nil where there is nothing to add. Of two lists of one
// length each element is compared with its counterpart, and null stands for an element that is as
// it was.
func difference(now, was any) (any, bool) {
	switch was := was.(type) {
	case replaceable:
		text, ok := now.(string)
		if ok && text != string(was) {
			return text, true
		}
		return nil, ok
	case map[string]any:
		object, ok := now.(map[string]any)
		if !ok {
			return nil, false
		}
		rest, ok := subtract(object, was)
		if !ok || len(rest) == 0 {
			return nil, ok
		}
		return rest, true
	case []any:
		list, ok := now.([]any)
		if !ok || len(list) != len(was) {
			return nil, false
		}
		rest, some := make([]any, len(was)), false
		for i := range was {
			if rest[i], ok = difference(list[i], was[i]); !ok {
				return nil, false
			}
			some = some || rest[i] != nil
		}
		if !some {
			return nil, true
		}
		return rest, true
	default:
		return nil, reflect.DeepEqual(now, was)
	}
}

// add is the inverse of subtract. What does not fit is taken as it is in rest: it was not taken
// from this base. It may keep parts of both.
func add(base, rest any) any {
	switch was := base.(type) {
	case replaceable:
		if text, ok := rest.(string); ok {
			return text
		}
		return string(was)
	case map[string]any:
		more, ok := rest.(map[string]any)
		if rest != nil && !ok {
			return rest
		}
		for field, v := range was {
			was[field] = add(v, more[field])
		}
		for field, v := range more {
			if _, known := was[field]; !known {
				was[field] = v
			}
		}
		return was
	case []any:
		more, ok := rest.([]any)
		if rest != nil && (!ok || len(more) != len(was)) {
			return rest
		}
		for i := range was {
			if more != nil {
				was[i] = add(was[i], more[i])
			}
		}
		return was
	}
	if rest != nil {
		return rest
	}
	return base
}

// clone copies the objects and lists of a JSON value.
func clone(m map[string]any) map[string]any {
	out, _ := copied(m).(map[string]any)
	return out
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for field, e := range v {
			out[field] = copied(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copied(e)
		}
		return out
	default:
		return v
	}
}

// withoutNulls takes the null members out of a value's objects. Those of lists stay, they count.
func withoutNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for field, e := range v {
			if e == nil {
				delete(v, field)
			} else {
				withoutNulls(e)
			}
		}
	case []any:
		for _, e := range v {
			withoutNulls(e)
		}
	}
}
