package walk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// compare reads everything once more, from the space and from the clusters: the watches may not be
// the only witness.
func (w *walk) compare(ctx context.Context) error {
	shapes, err := readAll(ctx, w.lab.space)
	if err != nil {
		return err
	}
	for _, o := range w.model.objects {
		if is := shapes[o.key()]; is != visible(o.shape) {
			w.judge.lostInSpace(o.key(), fmt.Sprintf("at the end the space has %+v of %s, the model %+v", is, o.key(), o.shape))
		}
	}
	for _, s := range w.model.sites {
		there, err := w.readSite(ctx, s)
		if err != nil {
			return err
		}
		w.judge.late(s, differ(w.model.wanted(s), there))
	}
	return nil
}

// ask has the judge see what there is at the sites that are not as the model says.
func (w *walk) ask(ctx context.Context, except map[string]time.Time) error {
	for _, s := range w.model.sites {
		if _, ok := except[s]; ok {
			continue
		}
		told := w.judge.told(s)
		there, err := w.readSite(ctx, s)
		if err != nil {
			return err
		}
		w.judge.behold(s, told, there)
	}
	return nil
}

func (w *walk) readSite(ctx context.Context, site string) (map[string]shape, error) {
	kube, err := drive.OpenKube(w.lab.configs[site])
	if err != nil {
		return nil, err
	}
	return readAll(ctx, kube)
}

// readAll reads all objects of the walk from a kube API.
func readAll(ctx context.Context, kube *drive.Kube) (map[string]shape, error) {
	raw, err := kube.Do(ctx, http.MethodGet, "/api/v1/configmaps", "", nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace, Name string
				Labels          map[string]string
			}
			Data map[string]string
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	out := map[string]shape{}
	for _, item := range list.Items {
		version, err := strconv.Atoi(item.Data["v"])
		if err != nil {
			continue // not the walk's
		}
		out[item.Metadata.Namespace+"/"+item.Metadata.Name] = shape{version: version, exists: true,
			pin:        item.Metadata.Labels[pinLabel],
			everywhere: item.Metadata.Labels[everywhere] != ""}
	}
	return out, nil
}

// differ compares what a site is to have with what is there.
func differ(wanted map[string]int, there map[string]shape) (out []difference) {
	for key, version := range wanted {
		if have := there[key].version; have != version {
			out = append(out, difference{key, version, have})
		}
	}
	for key, have := range there {
		if _, ok := wanted[key]; !ok {
			out = append(out, difference{key, 0, have.version})
		}
	}
	return out
}
