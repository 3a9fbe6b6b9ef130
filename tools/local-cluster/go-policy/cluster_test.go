package main

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const shared = "10.0.0.7"

func podWith(name string, change func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: meta.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}}
	p.Status.PodIP = shared
	change(p)
	return p
}

func TestOfTwoPodsWithOneAddressTheLaterOneHasIt(t *testing.T) {
	minute := func(m int) func(*v1.Pod) {
		return func(p *v1.Pod) { p.CreationTimestamp = meta.NewTime(time.Unix(int64(m*60), 0)) }
	}
	rows := map[string]struct {
		old, new  *v1.Pod
		announced map[string]announced
	}{
		"it was announced, the API server has no address yet": {
			podWith("old", minute(2)), podWith("new", func(p *v1.Pod) { p.Status.PodIP = "" }), map[string]announced{"new": {shared, 1}},
		},
		"both were announced":                    {podWith("old", minute(2)), podWith("new", minute(1)), map[string]announced{"old": {shared, 1}, "new": {shared, 2}}},
		"the other one ends":                     {podWith("old", func(p *v1.Pod) { p.DeletionTimestamp = &meta.Time{Time: time.Unix(1, 0)} }), podWith("new", minute(0)), nil},
		"the other one is older":                 {podWith("old", minute(1)), podWith("new", minute(2)), nil},
		"the other one has failed, and is newer": {podWith("old", func(p *v1.Pod) { minute(2)(p); p.Status.Phase = v1.PodFailed }), podWith("new", minute(1)), nil},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			// The order of the store is random.
			for range 20 {
				c := &cluster{announced: row.announced, pods: cache.NewSharedIndexInformer(nil, &v1.Pod{}, 0, nil)}
				for _, p := range []*v1.Pod{row.old, row.new} {
					if err := c.pods.GetStore().Add(p); err != nil {
						t.Fatal(err)
					}
				}
				if holder := c.findHolders()[shared]; holder == nil || holder.Name != "new" {
					t.Fatalf("the rules of another pod decide: %t", holder != nil)
				}
			}
		})
	}
}
