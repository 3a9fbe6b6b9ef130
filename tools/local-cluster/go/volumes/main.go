// Command volumes makes PersistentVolumes out of folders of this machine: `volumes KUBECONFIG PROVISIONER FOLDER`.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v10/controller"
)

const workers = 16

type provisioner struct {
	root string
	// name is what classes call this provisioner, and what its volumes say of themselves.
	name   string
	client kubernetes.Interface
	// sources keeps a folder from being removed while it is copied.
	sources locks
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: volumes KUBECONFIG PROVISIONER FOLDER")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(kubeconfig, name, root string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 2000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// What a killed predecessor was copying.
	if err := removePartialCopies(root); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	controller.NewProvisionController(klog.FromContext(ctx), client, name,
		&provisioner{root: root, name: name, client: client},
		controller.LeaderElection(false), controller.Threadiness(workers)).Run(ctx)
	return nil
}

func (p *provisioner) Provision(ctx context.Context, o controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if o.SelectedNode == nil {
		return nil, controller.ProvisioningFinished, errors.New("no node was selected: the class must wait for the first consumer")
	}
	if mode := o.PVC.Spec.VolumeMode; mode != nil && *mode == v1.PersistentVolumeBlock {
		return nil, controller.ProvisioningFinished, errors.New("block volumes are not supported")
	}
	path := filepath.Join(p.root, fmt.Sprintf("%s_%s_%s", o.PVName, o.PVC.Namespace, o.PVC.Name))
	if err := p.makeFolder(ctx, o.PVC, path); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return p.newVolume(o, path), controller.ProvisioningFinished, nil
}

func (p *provisioner) makeFolder(ctx context.Context, claim *v1.PersistentVolumeClaim, path string) error {
	if claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil {
		return p.clone(ctx, claim, path)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	// Pods of any user write here, whatever this process's umask.
	return os.Chmod(path, 0o777)
}

func (p *provisioner) newVolume(o controller.ProvisionOptions, path string) *v1.PersistentVolume {
	mustExist := v1.HostPathDirectory
	onlyThere := v1.NodeSelectorRequirement{
		Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{o.SelectedNode.Labels[v1.LabelHostname]},
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: o.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				HostPath: &v1.HostPathVolumeSource{Path: path, Type: &mustExist},
			},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{onlyThere}}},
			}},
		},
	}
}

func (p *provisioner) Delete(_ context.Context, pv *v1.PersistentVolume) error {
	path, isOurs := p.folderOf(pv)
	if !isOurs {
		return &controller.IgnoredError{Reason: "not a folder of this provisioner"}
	}
	lock := p.sources.of(path)
	lock.Lock()
	defer lock.Unlock()
	return os.RemoveAll(path)
}
