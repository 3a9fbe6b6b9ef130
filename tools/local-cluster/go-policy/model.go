package main

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// snapshot is everything the rules are derived from.
type snapshot struct {
	// podCIDR is where every pod of the node has its address.
	podCIDR string
	// bridge is the link pods reach the node by.
	bridge     string
	namespaces map[string]labelSet
	pods       []pod
	policies   []*networking.NetworkPolicy
	standIns   []standIn
}

// pod is one that has an address of its own.
type pod struct {
	namespace, name, ip string
	labels              labelSet
	// ports are the container ports that have a name.
	ports []namedPort
}

// labelSet is what selectors match.
type labelSet = labels.Set

type namedPort struct {
	name     string
	protocol string
	number   int32
}

// standIn is a process of the machine that clusters elsewhere run as a pod: policies name the pod and its port.
type standIn struct {
	pod
	// port is the pod's, hostPort the process's; for both TCP and UDP.
	port, hostPort int32
}

func namedPorts(containers []v1.Container) []namedPort {
	var found []namedPort
	for _, container := range containers {
		for _, port := range container.Ports {
			if port.Name != "" {
				found = append(found, namedPort{port.Name, protocolName(&port.Protocol), port.ContainerPort})
			}
		}
	}
	return found
}

func protocolName(protocol *v1.Protocol) string {
	if protocol == nil || *protocol == "" {
		return "tcp"
	}
	return strings.ToLower(string(*protocol))
}
