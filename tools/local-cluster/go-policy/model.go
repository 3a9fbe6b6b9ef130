package main

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// snapshot is the input from which rules are derived.
type snapshot struct {
	// podCIDR contains the address of every pod of the node.
	podCIDR string
	// bridge is the network link between pods and node.
	bridge     string
	namespaces map[string]labelSet
	pods       []pod
	policies   []*networking.NetworkPolicy
	standIns   []standIn
}

// pod is a pod with its own address.
type pod struct {
	namespace, name, ip string
	labels              labelSet
	// ports are the named container ports.
	ports []namedPort
}

// labelSet holds the labels that selectors match.
type labelSet = labels.Set

type namedPort struct {
	name     string
	protocol string
	number   int32
}

// standIn is a process on the machine that other clusters run as a pod. Policies refer to that pod and its port.
type standIn struct {
	pod
	// port is the pod's port and hostPort the process's, for both TCP and UDP.
	port, hostPort int32
}

func listNamedPorts(containers []v1.Container) []namedPort {
	var found []namedPort
	for _, container := range containers {
		for _, port := range container.Ports {
			if port.Name != "" {
				found = append(found, namedPort{port.Name, formatProtocol(&port.Protocol), port.ContainerPort})
			}
		}
	}
	return found
}

func formatProtocol(protocol *v1.Protocol) string {
	if protocol == nil || *protocol == "" {
		return "tcp"
	}
	return strings.ToLower(string(*protocol))
}
