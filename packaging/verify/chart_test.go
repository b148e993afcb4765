package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestChartHasTheLeastRights: the chart gives the rights that `skerry agent rbac` prints.
func TestChartHasTheLeastRights(t *testing.T) {
	printed, err := os.ReadFile(filepath.Join("..", "..", "agent", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	given, err := os.ReadFile(filepath.Join("..", "chart", "files", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(printed, given) {
		t.Error("the rights differ: cp agent/rbac.yaml packaging/chart/files/rbac.yaml")
	}
}
