package install

import (
	"reflect"
	"testing"

	"github.com/urfave/cli/v2"
)

// A setting that is given once is its value, in place of a flag's default; given again it is a list.
func TestSettings(t *testing.T) {
	var got request
	app := &cli.App{
		Flags: []cli.Flag{&cli.StringSliceFlag{Name: "set"}, &cli.StringFlag{Name: "listen", Value: "0.0.0.0:7443"}},
		Action: func(c *cli.Context) (err error) {
			got, err = requestOf(c, "center")
			return err
		},
	}
	err := app.Run([]string{"install", "--set", "advertise=a.example.com", "--set", "advertise=b.example.com",
		"--set", "listen=127.0.0.1:1", "--set", "log-level=debug"})
	want := map[string]any{
		"advertise": []string{"a.example.com", "b.example.com"}, "listen": "127.0.0.1:1", "log-level": "debug",
	}
	if err != nil || !reflect.DeepEqual(got.keys, want) {
		t.Errorf("%v, %v", got.keys, err)
	}
}
