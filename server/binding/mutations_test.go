package binding_test

var mutations = []mutation{
	{
		"what is refused is waited for as anything else", "facts.go", "alone && t.Refuses", "false && t.Refuses",
		propRefused,
	},
	{
		"what is refused beside what runs is given up at once", "facts.go", "alone && t.Refuses", "t.Refuses", propRefused,
	},
	{
		"a joiner that is not ready counts as arrived", "pairs.go",
		"case s.want.has(p.Target) && s.facts.state(p.Target) == Ready:", "case s.want.has(p.Target):", propCover,
	},
	{
		"a spare target is left uncovered", "pairs.go",
		"(known.Leave == Drain || spare > 0) && covered &&", "(known.Leave == Drain || spare > 0) && (covered || true) &&",
		propCover,
	},
	{
		"another target begins while what had come may still run", "pairs.go",
		"s.lingers(p.Target) && (found ||", "false && (found ||", propLease,
	},
	{
		"another target begins while what was left may still run", "pairs.go",
		"return s.crowded(t, false) || slices", "return slices", propLease,
	},
	{
		"another target begins while what is to be left may still run", "pairs.go",
		"case gone && found && s.crowded(p.Target, true):", "case false:", propLease,
	},
	{
		"what has come leaves while another one is waited for", "pairs.go",
		"if !s.crowded(p.Target, false) && !s.facts.away(next)", "if !s.facts.away(next)", propLease,
	},
	{
		"what came last and exists once is not marked before it is left", "next.go",
		"	s.unmarked()\n", "", propLease,
	},
	{
		"silence counts as missing when a joiner is taken back", "pairs.go",
		"return t.Dispensable && !t.Pinned", "return !t.Pinned", propCover,
	},
	{
		"a target joins before the left one is empty", "pairs.go",
		"case gone && found:\n", "case found:\n", propOnce,
	},
	{
		"what must be in one place moves as anything else", "pairs.go",
		"case found && s.first:", "case false:", propOnce,
	},
	{
		"an extra target joins while one is not left", "pairs.go",
		"if !s.first || len(s.Places) < len(s.facts.Wanted) {", "if true {", propOnce,
	},
	{
		"what must be in one place is stamped as anything else", "pass.go",
		"case s.Once:\n", "case s.ID == \"\":\n", propOnce,
	},
	{
		"silence counts as absence", "observe.go",
		"return reports.Counts(t)\n", "return true\n", propReports,
	},
	{
		"reports of an earlier stay count", "joined.go",
		"if old < 0 || from.Places[old].Off != p.Off {", "if old < 0 && from.Places == nil {", propReports,
	},
	{
		"reports of an earlier stay count for those that come along", "index.go",
		"x.joins(c.To, revision)", "", propReports,
	},
	{
		"what has ended passes on with its unit", "pass.go",
		"case s.Ended:\n\t\treturn x.divide(s)", "case s.Ended:\n\t\treturn Remains", propEnded,
	},
	{
		"a deposed leader's cohorts count", "term.go",
		"return c.Era == t.Era || !t.Open && slices.Contains(t.Heirs, c.Era)", "return true", propDeposed,
	},
	{
		"a new leader forgets the cohorts of the last one", "term.go",
		"next.Heirs = append(next.Heirs, t.Era)", "", propGeneration,
	},
	{
		"a leader that died before it opened its term is skipped", "term.go",
		"next.Heirs = slices.Clone(t.Heirs)", "", propGeneration,
	},
	{
		"the index keeps a deleted Binding", "index.go",
		"func (x *Index) DeleteBinding(id UnitID) { delete(x.units, id) }",
		"func (x *Index) DeleteBinding(UnitID) {}", propSnapshot,
	},
	{
		"the index keeps a deleted cohort's members", "index.go",
		"return other == c })", "return false })", propForget,
	},
	{
		"each write of a record is a generation", "next.go",
		"if !s.SamePlaces(r) {", "if true {", propGeneration,
	},
	{
		"a cohort arrives where it is not", "cohort.go",
		" && c.SamePlaces(to.Record)", "", propGeneration,
	},
	{
		"a cohort arrives at a Binding that a deposed leader may change", "cohort.go",
		" || c.Era != to.Era", "", propArrival,
	},
	{
		"objects are cut off a record that a deposed leader may change", "pass.go",
		"if x.Record(x.Of(s.ID, s.Stamp)).Era != x.term.Era {", "if false {", propSeen,
	},
	{
		"a cut remembers where its members may never have been", "cohort.go",
		"p.For != 0 && places.of(p.For) < 0", "p.For != 0 && places.of(p.For) < -1", propCut,
	},
	{
		"a cohort is deleted that hides an older one", "pass.go",
		"|| x.others(o, c)", "", propGeneration,
	},
	{
		"a cohort is deleted before its members' stamps", "pass.go",
		"|| stamp != c.To ", "|| stamp == c.To+\"-\" ", propGeneration,
	},
	{
		"objects go along with a unit that does not wish them any more", "work_test.go",
		"if p := l.x.Pass(s); p != Remains && p != NotYet && p != Later {\n\t\t\treturn true", "if false {\n\t\t\treturn true", propWished,
	},
	{
		"a target that is to be left is wanted", "next.go",
		"if s.facts.usable(t) && !gaveUp.has(t) {", "if !gaveUp.has(t) {", propLeave,
	},
	{
		"what was given up is tried at once", "next.go",
		"return t.Try != g.Try || ", "return t.Try == g.Try || ", propTries,
	},
	{
		"an unit without objects stays on a target that is to be left", "next.go",
		"\t\tif s.facts.usable(t) {\n\t\t\ts.Places = append", "\t\tif t > 0 {\n\t\t\ts.Places = append", propLeave,
	},
	{
		"a stamp is written again and again", "pass.go",
		"if c.Arrived && s.Stamp != s.Wished {", "if c.Arrived {", propRest,
	},
	{
		"stamps do not follow", "pass.go",
		"if c.Arrived && s.Stamp != s.Wished {", "if false {", propArrives,
	},
	{
		"a withdrawn wish returns nobody", "pairs.go",
		"case !s.want.has(p.Target) && beside && s.mayGoBack(p):", "case false:", propArrives,
	},
	{
		"feeds follow the wish and not the stamp", "world_test.go",
		"x.Record(x.Of(t.uid, t.stamp)).Places", "x.Record(x.Of(t.uid, s.wished(t))).Places", propUnknown,
	},
	{
		"a choice depends on what has nothing to do with it", "world_test.go",
		"staying := now.Staying()",
		"staying := now.Staying()\n\tif s.termMod%2 == 1 {\n\t\tnow, staying = Record{}, nil\n\t}", propInput,
	},
	{
		"a target that is not heard of must be left", "work_test.go",
		"Target{ID: t.id, Leave: t.leave,",
		"Target{ID: t.id, Leave: func() Leave {\n\t\t\t\tif s := l.w.sites[t.id]; s != nil && s.cut {\n" +
			"\t\t\t\t\treturn Evict\n\t\t\t\t}\n\t\t\t\treturn t.leave\n\t\t\t}(),", propSilence,
	},
	{
		"all pairs wait for each other", "pairs.go",
		"case s.want.has(p.Target) && s.facts.state(p.Target) == Ready:",
		"case s.want.has(p.Target) && !slices.ContainsFunc(s.Places, func(q Place) bool {\n" +
			"\t\t\treturn !q.Off && q.For != 0 && s.facts.state(q.Target) != Ready }):", propPair,
	},
	{
		"a new object joins a unit that may return to another target", "pass.go",
		"case u != nil && u.MayReturn():", "case u != nil && s.ID == \"\":", propPass,
	},
	{
		"what must run once follows its unit through a change", "cohort.go",
		" && (!once || rests && to.Settled())", "", propOnce,
	},
	{
		"what must run once follows its unit while that waits", "cohort.go",
		"rests && to.Settled()", "rests", propAim,
	},
	{
		"what must run once follows its unit before a change", "cohort.go",
		"rests && to.Settled()", "to.Settled()", propAim,
	},
	{
		"what has ended goes on as anything else", "next.go",
		"case f.Ended:", "case false:", propEnded,
	},
	{
		"a Binding that does not exist needs no owner", "pass.go",
		"if x.Record(x.Of(s.ID, s.Stamp)).Era != x.term.Era {",
		"if era := x.Record(x.Of(s.ID, s.Stamp)).Era; era != 0 && era != x.term.Era {", propPass,
	},
	{
		"what must not run twice moves as anything else from a target that is away", "next.go",
		"return p.Off || s.facts.fenced(p.Target) && !s.want.has(p.Target)", "return p.Off", propFence,
	},
	{
		"a target that was left when it was away is passed over", "next.go",
		"return p.Off || s.facts.fenced(p.Target) && !s.want.has(p.Target)",
		"return s.facts.fenced(p.Target) && !s.want.has(p.Target)", propFence,
	},
	{
		"a target that is evicted or not wished is forgotten when it is away", "places.go",
		"if s.first || s.facts.fenced(s.Places[i].Target) {", "if s.first {", propFence,
	},
	{
		"a target that is away counts as one where nothing runs", "observe.go",
		"(t.Fence == RunsNot || all", "(t.Fence != Speaks || all", propReports,
	},
	{
		"the end of a lease counts for nothing", "observe.go",
		"(t.Fence == RunsNot || all(t.ID, NoWord))", "all(t.ID, NoWord)", propLease,
	},
	{
		"what is late goes back to a target that is away", "facts.go",
		"return f.usable(t) && !f.fenced(t) }", "return f.usable(t) }", propLease,
	},
	{
		"what exists once goes to another target while one is away", "sole.go",
		"(p.Off || s.facts.fenced(p.Target) ||", "(p.Off ||", propLease,
	},
	{
		"a lease counts before it has ended", "work_test.go",
		"case s.expired(l.w.now):", "case s.leased():", propOnce,
	},
	{
		"an agent that is back goes on before it has heard what is desired", "site_test.go",
		"case s.stopped && w.alone(want.uid):", "case false:", propOnce,
	},
	{
		"what has begun is silent, and so not begun", "begun_test.go",
		"!says.Counts(t) || c.uid != m.uid || !c.ended", "says.Counts(t) && c.uid == m.uid && !c.ended", propBegun,
	},
	{
		"what has begun moves as anything else", "pairs.go",
		"case known.Pinned:\n", "case false:\n", propBegun,
	},
	{
		"a target is left before its turn", "pairs.go",
		"case found && known.Queued:\n", "case false:\n", propTurn,
	},
	{
		"what has begun is left when another one is ready", "pairs.go",
		"!s.pinned(t) && !s.facts.away(s.Places[i].Target)", "!s.facts.away(s.Places[i].Target)", propBegun,
	},
	{
		"what has begun is taken back beside what it was to replace", "pairs.go",
		"return t.Dispensable && !t.Pinned", "return t.Dispensable", propBegun,
	},
	{
		"what breaks first leaves for a target that is away", "pairs.go",
		" && !s.facts.away(next) && s.released(i)", " && s.released(i)", propReach,
	},
	{
		"a target is left for one that was ready before it went away", "pairs.go",
		" && !s.facts.away(s.Places[i].Target) &&", " &&", propReach,
	},
	{
		"a target that went away covers another one", "places.go",
		"s.want.has(p.Target) && s.facts.serves(p.Target) {", "s.want.has(p.Target) && s.facts.state(p.Target) == Ready {",
		propReach,
	},
	{
		"what was left first goes on to a target that went away", "pairs.go",
		"case gone && found && s.facts.away(next) && p.For == 0 &&", "case false && p.For == 0 &&", propSilent,
	},
	{
		"a target that was given up is empty because it is silent", "pairs.go",
		"gone := s.facts.state(p.Target) == Absent", "gone := s.facts.state(p.Target) == Absent || s.facts.away(p.Target)",
		propSilent,
	},
	{
		"a target is left before its hook has ended", "pairs.go",
		"s.facts.away(s.Places[i].Target) && s.released(old)", "s.facts.away(s.Places[i].Target)", propHook,
	},
	{
		"what breaks first waits for no hook", "pairs.go",
		"&& s.released(i) {\n\t\t\t\ts.takeOff(i)", "{\n\t\t\t\ts.takeOff(i)", propHook,
	},
	{
		"what nothing comes for waits for no hook", "pairs.go",
		"if spare--; s.released(i) {", "if spare--; true {", propHook,
	},
	{
		"what is wished nowhere waits for no hook", "next.go",
		"} else if s.released(i) {", "} else {", propHook,
	},
	{
		"what must be left now waits for no hook", "next.go",
		"if s.released(i) {\n\t\t\t\ts.leave(i, Evicted)", "if true {\n\t\t\t\ts.leave(i, Evicted)", propHook,
	},
	{
		"a hook that ran before a target was wished again counts", "next.go",
		"p.forgetHooks() // it", "// it", propHook,
	},
	{
		"a hook that failed counts as ended", "hooks.go",
		"case t.Hook == HookEnded:", "case t.Hook != HookRuns:", propHook,
	},
	{
		"one hook of two is enough", "hooks.go",
		"return p.Hooks.Ran >= t.Hooks\n}\n\n// held", "return p.Hooks.Ran > 0\n}\n\n// held", propHook,
	},
	{
		"a cohort goes on with the hooks of its unit", "cohort.go",
		"p.forgetHooks() //", "//", propCut,
	},
	{"what was left begins elsewhere before its volumes are there", "pairs.go",
		"case found && p.Copying && s.facts.copied(next) != CopiedWhole:", "case false:", propCopied},
	{"a target is left before the first rounds of its copy", "pairs.go",
		"case found && s.facts.Copies && s.facts.copied(next) == CopiedNot:\n", "case false:\n", propNearly},
	{
		"a target is left at once for what comes last", "pairs.go",
		"if s.facts.HandsOver && !s.first && !s.facts.fenced(t) {", "if false {", propLast,
	},
	{
		"what comes last begins while the other target may have it", "pairs.go",
		"case s.facts.state(p.Target) == Absent:\n", "case true:\n", propLast,
	},
	{
		"another target begins while what comes last is on its way", "pairs.go",
		"\t\tif handing {\n", "\t\tif handing && false {\n", propLast,
	},
	{
		"two that came beside one get what comes last", "pairs.go",
		"other.For = heir.Target //", "_ = heir.Target //", propLast,
	},
	{
		"an unanswered write is given up", "leader_test.go",
		"again := *a\n\t\tl.pending = &again", "l.pending = nil", propGeneration,
	},
	{
		"a hook runs before it is recorded that it does", "hooks.go",
		"return !p.Off && p.Hooks.Began != 0 &&", "return !p.Off &&", propHookOnce,
	},
	{
		"a budget keeps nothing that leaves", "../placement/vacate.go",
		"short := max(1, terms.MinAvailable, min(", "short := max(1, min(", propBudgets,
	},
	{
		"what breaks first leaves all targets at once", "../placement/vacate.go",
		"if left--; left < 0 {", "if left--; false {", propBudgets,
	},
	{
		"a budget counts targets that are lost", "../placement/vacate.go",
		"max(0, keep+len(may)-terms.MinAvailable)", "max(0, 0*keep+len(current)-terms.MinAvailable)", propBudgets,
	},
	{
		"most of a fleet is left like one target", "../placement/evict.go",
		"l.Reason.Automatic() && w.Halted:", "l.Reason.Automatic() && false:", propHalf,
	},
	{
		"drained targets count as well", "../placement/evict.go",
		"if t.Removing || t.Drained() {", "if false {", propHalf,
	},
	{
		"one replica too many", "../placement/divide.go",
		"for ; left > 0; left-- {", "for ; left >= 0; left-- {", propShares,
	},
	{
		"a target of a move has what others leave, too", "../placement/divide.go",
		"share > out[name] {\n\t\t\t\tout[name] = share", "share > 0 {\n\t\t\t\tout[name] += share", propShares,
	},
}
