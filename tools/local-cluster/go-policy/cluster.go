package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster holds the API server's state, and the new addresses of pods that the API server does not know yet.
type cluster struct {
	base                       snapshot
	pods, namespaces, policies cache.SharedIndexInformer
	changed                    func()

	mu    sync.Mutex
	order int
	// announced has addresses by pod UID until the pod is deleted. They override the pod's status, which for a while
	// shows the old address of a pod whose network was set up again.
	announced map[string]announced
}

// announced is an address; of two pods with the same one, that with the higher order has it now.
type announced struct {
	ip    string
	order int
}

func watchCluster(ctx context.Context, kubeconfig string, base snapshot, changed func()) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	c := &cluster{
		base:       base,
		pods:       factory.Core().V1().Pods().Informer(),
		namespaces: factory.Core().V1().Namespaces().Informer(),
		policies:   factory.Networking().V1().NetworkPolicies().Informer(),
		changed:    changed,
		announced:  map[string]announced{},
	}
	if err := c.listen(); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, errors.New("stopped before the caches were filled")
		}
	}
	return c, nil
}

func (c *cluster) listen() error {
	if err := c.pods.SetTransform(dropUnusedFields); err != nil {
		return err
	}
	_, podError := c.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.changed() },
		UpdateFunc: func(before, after any) {
			if isDifferent(before.(*v1.Pod), after.(*v1.Pod)) {
				c.changed()
			}
		},
		DeleteFunc: func(object any) { c.forget(object) },
	})
	namespaces := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.changed() },
		UpdateFunc: func(before, after any) {
			if !maps.Equal(before.(*v1.Namespace).Labels, after.(*v1.Namespace).Labels) {
				c.changed()
			}
		},
		DeleteFunc: func(any) { c.changed() },
	}
	_, namespaceError := c.namespaces.AddEventHandler(namespaces)
	_, policyError := c.policies.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.changed() },
		UpdateFunc: func(before, after any) {
			if before.(*networking.NetworkPolicy).Generation != after.(*networking.NetworkPolicy).Generation {
				c.changed()
			}
		},
		DeleteFunc: func(any) { c.changed() },
	})
	return errors.Join(podError, namespaceError, policyError)
}

// dropUnusedFields drops the fields of a pod that rules do not need, to save memory.
func dropUnusedFields(object any) (any, error) {
	p, isPod := object.(*v1.Pod)
	if !isPod {
		return object, nil
	}
	kept := &v1.Pod{ObjectMeta: p.ObjectMeta, Status: v1.PodStatus{Phase: p.Status.Phase, PodIP: p.Status.PodIP}}
	kept.ManagedFields, kept.Annotations, kept.OwnerReferences = nil, nil, nil
	kept.Spec.HostNetwork = p.Spec.HostNetwork
	kept.Spec.Containers = []v1.Container{{}}
	for _, container := range append(append([]v1.Container{}, p.Spec.InitContainers...), p.Spec.Containers...) {
		kept.Spec.Containers[0].Ports = append(kept.Spec.Containers[0].Ports, container.Ports...)
	}
	return kept, nil
}

func isDifferent(before, after *v1.Pod) bool {
	return before.UID != after.UID || before.Status.PodIP != after.Status.PodIP ||
		isOver(before) != isOver(after) || !maps.Equal(before.Labels, after.Labels)
}

func isOver(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

func (c *cluster) forget(object any) {
	if tombstone, isOne := object.(cache.DeletedFinalStateUnknown); isOne {
		object = tombstone.Obj
	}
	if p, isPod := object.(*v1.Pod); isPod {
		c.mu.Lock()
		delete(c.announced, string(p.UID))
		c.mu.Unlock()
	}
	c.changed()
}

// announce records the address of a pod whose network is being set up. It waits until the informer has the pod.
func (c *cluster) announce(ctx context.Context, a announcement) error {
	for {
		object, there, err := c.pods.GetStore().GetByKey(a.Namespace + "/" + a.Name)
		if p, isPod := object.(*v1.Pod); err == nil && there && isPod && (a.UID == "" || string(p.UID) == a.UID) {
			c.mu.Lock()
			c.order++
			c.announced[string(p.UID)] = announced{a.IP, c.order}
			c.mu.Unlock()
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the API server has no such pod")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *cluster) takeSnapshot() snapshot {
	s := c.base
	s.namespaces = map[string]labelSet{}
	for _, object := range c.namespaces.GetStore().List() {
		namespace := object.(*v1.Namespace)
		s.namespaces[namespace.Name] = namespace.Labels
	}
	for _, object := range c.policies.GetStore().List() {
		s.policies = append(s.policies, object.(*networking.NetworkPolicy))
	}
	slices.SortFunc(s.policies, func(a, b *networking.NetworkPolicy) int {
		return strings.Compare(string(a.UID), string(b.UID))
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for ip, p := range c.findHolders() {
		s.pods = append(s.pods, pod{p.Namespace, p.Name, ip, p.Labels, listNamedPorts(p.Spec.Containers)})
	}
	return s
}

// findHolders returns the pod of each address. A pod that is being deleted keeps the address in its status after its network is
// gone, while the next pod may have it already: the rules of the old one must not decide about the new one.
func (c *cluster) findHolders() map[string]*v1.Pod {
	holders := map[string]*v1.Pod{}
	for _, object := range c.pods.GetStore().List() {
		p := object.(*v1.Pod)
		ip := c.findAddress(p)
		if ip == "" || p.Spec.HostNetwork || isOver(p) {
			continue
		}
		if other, isTaken := holders[ip]; !isTaken || c.comesAfter(p, other) {
			holders[ip] = p
		}
	}
	return holders
}

func (c *cluster) findAddress(p *v1.Pod) string {
	if a, isAnnounced := c.announced[string(p.UID)]; isAnnounced {
		return a.ip
	}
	return p.Status.PodIP
}

// comesAfter reports whether p got its network after other. Nothing is announced of pods from before a restart of this process.
func (c *cluster) comesAfter(p, other *v1.Pod) bool {
	one, two := c.announced[string(p.UID)].order, c.announced[string(other.UID)].order
	if one != two {
		return one > two
	}
	if isEnding, isOtherEnding := p.DeletionTimestamp != nil, other.DeletionTimestamp != nil; isEnding != isOtherEnding {
		return isOtherEnding
	}
	return other.CreationTimestamp.Before(&p.CreationTimestamp)
}
