package server_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// knownPages: a list in pages has what a list has, those objects too that no space stores, whatever
// the size of a page; and what is made between two pages is in none of them.
func knownPages(t *testing.T, c *center, space string) {
	ctx := t.Context()
	api := clients(t, c.admin(space)).RbacV1().ClusterRoles()
	for _, name := range []string{"aaa", "edit-more", "zzz"} {
		_, err := api.Create(
			ctx,
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{},
		)
		must(t, err)
	}
	view, err := api.Get(ctx, "view", metav1.GetOptions{})
	must(t, err)
	view.Labels["changed"] = "true" // stored from now on
	_, err = api.Update(ctx, view, metav1.UpdateOptions{})
	must(t, err)
	all, err := api.List(ctx, metav1.ListOptions{})
	must(t, err)
	want := names(all)
	known := int64(len(want) - 4)
	for _, size := range []int64{1, 10, known - 1, known, known + 1, int64(len(want)), int64(len(want)) + 1} {
		var got []string
		revisions := map[string]bool{}
		for next, n := "", 0; n == 0 || next != ""; n++ {
			page, err := api.List(ctx, metav1.ListOptions{Limit: size, Continue: next})
			must(t, err)
			if int64(len(page.Items)) > size || len(page.Items) == 0 {
				t.Errorf("a page of %d has %d", size, len(page.Items))
			}
			got, next = append(got, names(page)...), page.Continue
			revisions[page.ResourceVersion] = true
			if n == 0 {
				_, err := api.Create(
					ctx,
					&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "between"}},
					metav1.CreateOptions{},
				)
				must(t, err)
			}
		}
		must(t, api.Delete(ctx, "between", metav1.DeleteOptions{}))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %d of %d\n%v", size, len(got), len(want), got)
		}
		if len(revisions) != 1 {
			t.Errorf("in pages of %d: as of %v", size, revisions)
		}
	}
	if _, err := api.List(ctx, metav1.ListOptions{Limit: 5, Continue: "nonsense"}); err == nil {
		t.Error("a token that is none is taken")
	}
}

func names(list *rbacv1.ClusterRoleList) (out []string) {
	for _, r := range list.Items {
		out = append(out, r.Name)
	}
	return out
}
