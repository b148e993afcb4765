package apply

import (
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/store"
)

// action is what is done about one object. plan and planRemoval decide it by facts alone; what is
// found out at the target while it is done may lead to another one at the next try.
type action string

// What is done about an object that is desired.
const (
	actLeave           action = "LeaveReport"     // what was said of it is still so
	actConfirm         action = "Confirm"         // it is as desired, which is said
	actRecheck         action = "Recheck"         // so it is, and would the target alter the same of it now?
	actStopPod         action = "StopPod"         // it must not run
	actStayAway        action = "StayAway"        // it went, and is not created again
	actComeBack        action = "ComeBack"        // its deletion was asked for from here, and how that ended is not known
	actSeeDrift        action = "SeeDrift"        // others have changed it
	actCreate          action = "Create"          // or adopt what has the name
	actCheckNamespace  action = "CheckNamespace"  // another's at a relay: is it still there?
	actCheckDefinition action = "CheckDefinition" // another's, so no drift: is it still there, and equal?
	actReplace         action = "Replace"         // it runs once, and its source was made anew
	actUpdate          action = "Update"
)

// What is done about an object of a tombstone.
const (
	actNotApplied action = "nothing is applied" // nothing is there that could go
	actNotOurs    action = "not made by us"     // another's, which was used
	actProtected  action = "protected name"     // the target cannot live without it
	actGiveBack   action = "GiveBack"           // a namespace that was there before
	actTakeOff    action = "TakeOff"            // fields of an account that stays
	actLetGo      action = "LetGo"              // the object stays, as nobody's
	actDelete     action = "Delete"
)

// facts are what is known of a desired object before the target is asked.
type facts struct {
	kind     planKind
	state    planState
	same     bool // what was written last is what is desired now
	created  bool // the object was made from here
	remade   bool // its source is another one than that of the record
	stopped  bool // it must not run
	deleting bool // its deletion was asked for from here, and how that ended is not known
	drifted  bool // fields are ours no longer, and nobody has looked yet
	told     bool // so they are, and that was reported
	doubted  bool // it is to be looked at whether the target would still alter it
	sealed   bool // the site's policy applies
}

// planKind is a kind as far as plan tells kinds apart, and planState what the record says of an object.
type planKind string

type planState string

const (
	kindOther      planKind = "ordinary"
	kindJob        planKind = "Job"
	kindPod        planKind = "Pod"
	kindNamespace  planKind = "Namespace"
	kindDefinition planKind = "CustomResourceDefinition"

	stateAbsent  planState = "absent"
	statePresent planState = "present"
	stateGone    planState = "gone"  // it is not created again as long as nothing changes
	stateEnded   planState = "ended" // it ran to its end and went
)

// kindOf is the kind of a key, and stateOf the state of a record.
func kindOf(k store.Key) planKind {
	switch class := k.Class(); {
	case class == store.ClassNamespace:
		return kindNamespace
	case class == store.ClassCRD:
		return kindDefinition
	case k.Group == "" && k.Resource == "pods":
		return kindPod
	case runsOnce(k):
		return kindJob
	}
	return kindOther
}

func stateOf(r inventory.Record) planState {
	switch {
	case r.UID != "":
		return statePresent
	case !r.Gone:
		return stateAbsent
	case r.Finished:
		return stateEnded
	}
	return stateGone
}

// plan decides about an object that is desired. What it answers with actLeave or actConfirm does not
// depend on remade.
func plan(f facts) action {
	stop := f.stopped && f.kind == kindPod
	asDesired := f.same && f.state == statePresent && !f.deleting && !stop
	others := f.kind == kindDefinition && f.sealed && !f.created
	switch {
	case asDesired && f.told:
		return actLeave
	case asDesired && !f.drifted && !f.doubted:
		return actConfirm
	case stop:
		return actStopPod
	case f.state == stateGone && f.same, f.state == stateEnded && (f.same || !f.remade):
		return actStayAway
	case f.state != statePresent:
		return actCreate
	case f.deleting:
		return actComeBack
	case f.same && !f.drifted:
		return actRecheck
	case others:
		return actCheckDefinition
	case f.same:
		return actSeeDrift
	case f.kind == kindNamespace && !f.sealed && !f.created:
		return actCheckNamespace
	case f.remade && (f.kind == kindJob || f.kind == kindPod):
		return actReplace
	}
	return actUpdate
}

// planRemoval decides about a tombstone: k is its key, at the key in the names of the target, r the
// record, and how the parent's word.
func planRemoval(k, at store.Key, r inventory.Record, how store.Removal, sealed bool) action {
	kind := kindOf(k)
	switch {
	case r.OriginUID == "":
		return actNotApplied
	case kind == kindNamespace && !r.Created && r.UID != "" && sealed:
		return actGiveBack
	case (kind == kindNamespace || kind == kindDefinition) && !r.Created:
		return actNotOurs
	case how == store.RemoveOrphan && policy.IsWebhooks(k.Group, k.Resource) && sealed:
		return actDelete // nobody would narrow it from then on
	case how == store.RemoveOrphan:
		return actLetGo
	case site.IsDefaultAccount(at):
		return actTakeOff
	case site.Protected(at):
		return actProtected
	}
	return actDelete
}
