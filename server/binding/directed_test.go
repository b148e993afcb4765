package binding_test

// These are properties of server/placement, which decides what records are made of.
const (
	propBudgets = "budgets hold"
	propHalf    = "half the fleet lost is not left"
	propShares  = "shares never add up to more than count"
)

// directed are the tests of properties that histories reach too seldom.
var directed = map[string]string{
	propPair:    "TestABadTargetDelaysOnlyItsPair",
	propArrival: "TestACohortArrives",
	propPass:    "TestPass",
	propCut:     "TestACut",
	propAim:     "TestACohortAims",
	propForget:  "TestADeletedCohortDecidesNothing",
	propLeave:   "TestNothingJoinsATargetThatMustBeLeft",
	propSilent:  "Test(SilenceIsNotAbsence|AMoveToASilentTargetTakesNothingAway)",
	propTries:   "TestASwapThatBlocksItselfGoesBack",
	propLease:   "Test(ALease|WhatExistsOnce|WhatCameLast|WhatWasToCome).*",
	propCopied:  "TestNoRecordBeginsWithoutItsVolumes",
	propNearly:  "TestNoRecordBeginsWithoutItsVolumes",
	propLast:    "Test(WhatComesLastRunsOnce|TwoThatCameBeside)",
	propRefused: "TestARefusalIsNotWaitedForLong",
	propTurn:    "TestWhatWaitsForItsTurnIsNotLeft",
	propBudgets: "TestBudgetsHold",
	propHalf:    "TestHalfTheFleetLostMovesNothing",
	propShares:  "TestSharesNeverAddUpToMore",
}
