package backup

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/store/etcd"
)

func filesOf(c *cli.Context) etcd.Files {
	return etcd.Files{CA: c.String("datastore-ca-file"), Cert: c.String("datastore-cert-file"),
		Key: c.String("datastore-key-file")}
}

func (do commands) restore(c *cli.Context, location string) error {
	endpoint, secret := c.String(sharedFlag), c.String(secretFlag)
	if (endpoint == "") != (secret == "") {
		return do.usage("--%s and --%s go together", sharedFlag, secretFlag)
	}
	o := RestoreOptions{
		File:     location,
		S3:       S3Of(c, do.credential),
		Dir:      c.String("data-dir"),
		Database: do.database,
		Replace:  c.Bool(replaceFlag),
		DryRun:   c.Bool(dryRunFlag),
		Progress: do.progress(c),
		Outside:  Outside{c.String("encryption-key-file"), c.String("encryption-provider-config")},
	}
	where, start := o.Dir, "skerry center --data-dir "+o.Dir
	if endpoint != "" {
		o.Into = do.database.Replicas(endpoint, filesOf(c), secret)
		where, start = "The datastore", "each replica, as before, with a --data-dir that is empty or was its own"
	}
	r, err := Restore(c.Context, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		fate := "."
		if r.Held != "nothing" {
			fate = ", which would be replaced."
		}
		_, err := fmt.Fprintf(c.App.Writer, "%s is sound: center %s as it was at %s, revision %d.\n"+
			"%s holds %s%s\nNothing was written.\n",
			location, r.Incarnation, r.Made.Format(timeForm), r.Revision, where, r.Held, fate)
		return err
	}
	if r.Aside != "" {
		fmt.Fprintf(
			c.App.Writer,
			"What was there is in %s now; remove it when nobody misses it.\n",
			r.Aside,
		)
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s holds center %s as it was at %s, revision %d.\n"+
		"Never start it beside the center that it is a copy of. Start it:  %s\n"+
		"Sites that had come further hold what they have; see what each would delete and change, and accept it:  "+
		"skerry target accept --all --dry-run\n",
		where, r.Incarnation, r.Made.Format(timeForm), r.Revision, start)
	return err
}
