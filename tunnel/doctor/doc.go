// Package doctor looks for what is wrong and says what to do about it. It is the engine of `skerry
// doctor`; what is looked at stands in the packages below it, in agent/doctor and in server/doctor.
//
// Its nouns are the [Check], which looks at one thing; the [Fault], one thing that can be wrong and
// how it is mended; and the [Finding], what a check found.
//
//	var dns = doctor.Fault{Name: "name-unresolved", Means: "...", Fix: "..."}
//
//	report := doctor.New(version)
//	report.Run(ctx, "agent", []doctor.Check{
//		{Name: "parent.name", What: "...", Faults: []doctor.Fault{dns}, Run: resolve},
//		{Name: "parent.tcp", What: "...", Needs: []string{"parent.name"}, Run: connect},
//	})
//	err := report.Print(os.Stdout, "table")
//
// One cause is named once. A check that needs another one is skipped while that one has failed, and
// says so. A warning skips nothing: what it is about works, but not as well as it could.
package doctor
