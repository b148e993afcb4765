package failpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// stuck is for how long a process stays at a place that it has reached. It is killed there long
// before.
const stuck = 10 * time.Minute

// control is the failpoints' own HTTP address of one process.
type control string

// newControl returns a free address for a process's failpoints and the environment that makes the
// process listen there.
func newControl() (control, []string, error) {
	address, err := drive.FreeAddress()
	if err != nil {
		return "", nil, err
	}
	return control(address), []string{"GOFAIL_HTTP=" + address}, nil
}

func (c control) do(ctx context.Context, method, path, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+string(c)+"/"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("failpoint %s: %w", path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("failpoint %s: %s: %s", path, res.Status, data)
	}
	return strings.TrimSpace(string(data)), err
}

// arm makes whoever comes to the place stay there.
func (c control) arm(ctx context.Context, point string) error {
	return drive.Until(ctx, 10*time.Second, "the failpoints' address answers", func(ctx context.Context) error {
		_, err := c.do(ctx, http.MethodPut, point, fmt.Sprintf("sleep(%d)", stuck.Milliseconds()))
		return err
	})
}

// reached waits until somebody is at the place.
func (c control) reached(ctx context.Context, point string, limit time.Duration) error {
	return drive.Until(ctx, limit, "the code comes to "+point, func(ctx context.Context) error {
		n, err := c.do(ctx, http.MethodGet, point+"/count", "")
		if err == nil && n == "0" {
			err = fmt.Errorf("nobody came there")
		}
		return err
	})
}
