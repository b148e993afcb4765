package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"skerry.dev/skerry/testenv/node"
	"skerry.dev/skerry/testenv/oci"
)

// Load gives the node of a real cluster one more image, until the cluster is
// taken down.
func (s State) Load(ctx context.Context, name string, image oci.Image) error {
	c, err := s.Get(name)
	if err != nil {
		return err
	}
	if c.Kind != Real {
		return fmt.Errorf("cluster %s is %s: its pods run no image", name, c.Kind)
	}
	records, err := c.processes().Records()
	if err != nil {
		return err
	}
	record, found := records[nodeRole]
	if !found || !record.Alive() {
		return fmt.Errorf("the node of cluster %s does not run: testenv start %s", name, name)
	}
	archive, err := os.CreateTemp("", "testenv-image-")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	if err := oci.Write(archive, image); err != nil {
		return err
	}
	// The node has a /run of its own, which its first process leads to.
	socket := filepath.Join(fmt.Sprintf("/proc/%d/root", record.PID), node.ContainerdSocket)
	ctr := exec.CommandContext(ctx, filepath.Join(c.Bin, "ctr"), "--address", socket,
		"--namespace", node.ImageNamespace, "images", "import", archive.Name())
	if output, err := ctr.CombinedOutput(); err != nil {
		return fmt.Errorf("import image %s: %w\n%s", image.Reference, err, output)
	}
	return nil
}
