package main

import (
	"fmt"
	"net/netip"

	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ensureSet returns the name of the set of pods that a peer selects, and fills it. Equal peers share a set.
func (c *compiler) ensureSet(peer networking.NetworkPolicyPeer, namespace string) string {
	name := "p-" + digest(formatPeerKey(peer, namespace))
	if c.table.define(name, "type ipv4_addr;") {
		for _, p := range c.pods {
			if c.isPeer(peer, namespace, p) {
				c.table.add(name, p.ip, "")
			}
		}
	}
	return name
}

func formatPeerKey(peer networking.NetworkPolicyPeer, namespace string) string {
	if peer.NamespaceSelector != nil {
		namespace = "=" + meta.FormatLabelSelector(peer.NamespaceSelector)
	}
	if peer.PodSelector == nil {
		return namespace
	}
	return namespace + "|" + meta.FormatLabelSelector(peer.PodSelector)
}

func (c *compiler) isPeer(peer networking.NetworkPolicyPeer, namespace string, p pod) bool {
	if peer.NamespaceSelector == nil {
		if p.namespace != namespace {
			return false
		}
	} else if !selects(peer.NamespaceSelector, c.namespaces[p.namespace]) {
		return false
	}
	return peer.PodSelector == nil || selects(peer.PodSelector, p.labels)
}

// listNamedDestinations returns matches for named ports. The same name may stand for a different number in each pod.
func (c *compiler) listNamedDestinations(r rule, p pod) []string {
	var lines []string
	for _, port := range r.ports {
		if port.Port == nil || port.Port.Type != intstr.String {
			continue
		}
		peers := r.peers
		if len(peers) == 0 {
			peers = []networking.NetworkPolicyPeer{{NamespaceSelector: &meta.LabelSelector{}}}
		}
		for _, peer := range peers {
			if peer.IPBlock == nil {
				set := c.ensureNamedSet(peer, p.namespace, port)
				lines = append(lines, "ip daddr . meta l4proto . th dport @"+set)
			}
		}
	}
	return lines
}

func (c *compiler) ensureNamedSet(peer networking.NetworkPolicyPeer, namespace string, port networking.NetworkPolicyPort) string {
	protocol := formatProtocol(port.Protocol)
	name := "n-" + digest(fmt.Sprintf("%s|%s|%s", formatPeerKey(peer, namespace), port.Port.StrVal, protocol))
	if c.table.define(name, "type ipv4_addr . inet_proto . inet_service;") {
		for _, p := range c.pods {
			if !c.isPeer(peer, namespace, p) {
				continue
			}
			for _, number := range findPortNumbers(p, port.Port.StrVal, protocol) {
				c.table.add(name, fmt.Sprintf("%s . %s . %d", p.ip, protocol, number), "")
			}
		}
	}
	return name
}

func (c *compiler) listStandInMatches(r rule, p pod) []string {
	var lines []string
	for _, s := range c.standIns {
		if !c.reaches(r, p.namespace, s) {
			continue
		}
		for _, protocol := range []string{"tcp", "udp"} {
			if allowsPort(r.ports, protocol, s.port) {
				lines = append(lines, fmt.Sprintf("ip daddr %s %s", s.ip, formatPortMatch(protocol, s.hostPort, nil)))
			}
		}
	}
	return lines
}

func (c *compiler) reaches(r rule, namespace string, s standIn) bool {
	for _, peer := range r.peers {
		if peer.IPBlock != nil {
			if contains(peer.IPBlock, s.ip) {
				return true
			}
		} else if c.isPeer(peer, namespace, s.pod) {
			return true
		}
	}
	return len(r.peers) == 0
}

func contains(block *networking.IPBlock, ip string) bool {
	address := netip.MustParseAddr(ip)
	within := func(cidr string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		return err == nil && prefix.Contains(address)
	}
	for _, except := range block.Except {
		if within(except) {
			return false
		}
	}
	return within(block.CIDR)
}

func allowsPort(ports []networking.NetworkPolicyPort, protocol string, number int32) bool {
	for _, port := range ports {
		if formatProtocol(port.Protocol) != protocol {
			continue
		}
		if port.Port == nil || port.Port.Type == intstr.Int && port.Port.IntVal <= number &&
			(port.Port.IntVal == number || port.EndPort != nil && number <= *port.EndPort) {
			return true
		}
	}
	return len(ports) == 0
}
