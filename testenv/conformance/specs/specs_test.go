package specs

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	_ "k8s.io/component-base/logs/testinit" // flags of logging
	conformancetestdata "k8s.io/kubernetes/test/conformance/testdata"
	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/auth"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	e2etestingmanifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	testfixtures "k8s.io/kubernetes/test/fixtures"
	_ "k8s.io/kubernetes/test/utils/ktesting/format" // how gomega shows objects
)

// The two files that whoever runs the suite names: the specs to run, one full text a line, and
// where each process of the suite adds a line of JSON when a spec has ended.
const (
	specsVariable   = "SKERRY_CONFORMANCE_SPECS"
	resultsVariable = "SKERRY_CONFORMANCE_RESULTS"
)

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(e2etestingmanifests.GetE2ETestingManifestsFS())
	testfiles.AddFileSource(testfixtures.GetTestFixturesFS())
	testfiles.AddFileSource(conformancetestdata.GetConformanceTestdataFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

// TestSpecs runs the chosen specs against the cluster of --kubeconfig. What upstream's own suite
// waits for before it begins is nodes and the pods of kube-system, which a space does not have.
func TestSpecs(t *testing.T) {
	chosen := os.Getenv(specsVariable)
	if chosen == "" {
		t.Skip(specsVariable + " is not set: run the specs with make conformance")
	}
	wanted, err := lines(chosen)
	if err != nil {
		t.Fatal(err)
	}
	framework.TestContext.IPFamily = "ipv4"
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	suite.RandomizeAllSpecs, suite.SkipStrings, suite.FocusStrings = false, nil, nil
	for _, text := range wanted {
		suite.FocusStrings = append(suite.FocusStrings, "^"+regexp.QuoteMeta(suiteName+" "+text)+"$")
	}
	// Here and not at the top of the file: what upstream does first, listing all specs, would
	// report them and then forget the node.
	ginkgo.ReportAfterEach(record)
	ginkgo.RunSpecs(t, suiteName, suite, reporter)
}

const suiteName = "conformance"

// record adds a result to the file of results.
func record(r ginkgo.SpecReport) {
	path := os.Getenv(resultsVariable)
	unchosen := r.State == types.SpecStateSkipped && r.Failure.Message == ""
	if path == "" || unchosen {
		return
	}
	line, err := json.Marshal(struct {
		Spec    string  `json:"spec"`
		State   string  `json:"state"`
		Seconds float64 `json:"seconds"`
		Message string  `json:"message,omitempty"`
		At      string  `json:"at,omitempty"`
	}{r.FullText(), r.State.String(), r.RunTime.Round(time.Millisecond).Seconds(), r.Failure.Message, failedAt(r)})
	if err == nil {
		err = appendLine(path, line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report a result:", err)
	}
}

func failedAt(r ginkgo.SpecReport) string {
	if r.Failure.Message == "" {
		return ""
	}
	return r.Failure.Location.String()
}

// appendLine adds a line in one write, so that processes side by side do not mix theirs.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func lines(path string) (all []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if text := strings.TrimSpace(sc.Text()); text != "" {
			all = append(all, text)
		}
	}
	return all, sc.Err()
}
