package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tableName is the nftables table, of which everything in here is part: `down` deletes it as a whole.
const tableName = "ip sandlot-policy"

const (
	podSet     = "pods"
	selfSet    = "self"
	ingressMap = "ingress"
	egressMap  = "egress"
)

// table is what the nftables table contains besides its base chains. Chains are named after their content and never
// change; sets and maps change by elements.
type table struct {
	chains map[string][]string
	sets   map[string]set
}

// set is one of nftables' sets or, with values, verdict maps.
type set struct {
	kind, definition string
	elements         map[string]string
}

func newTable() table {
	t := table{chains: map[string][]string{}, sets: map[string]set{}}
	t.define(podSet, "type ipv4_addr;")
	t.define(selfSet, "type ipv4_addr . ipv4_addr;")
	for _, name := range []string{ingressMap, egressMap} {
		t.sets[name] = set{"map", "type ipv4_addr : verdict;", map[string]string{}}
	}
	return t
}

// define makes an empty set and reports whether it was new.
func (t table) define(name, definition string) bool {
	if _, there := t.sets[name]; there {
		return false
	}
	t.sets[name] = set{"set", definition, map[string]string{}}
	return true
}

func (t table) add(name, key, value string) { t.sets[name].elements[key] = value }

// full gives the transaction that puts the table in place of whatever is there.
func full(t table, s snapshot) string {
	var out strings.Builder
	fmt.Fprintf(&out, "table %s {}\ndelete table %s\nadd table %s\n", tableName, tableName, tableName)
	out.WriteString(difference(table{}, t))
	out.WriteString(baseChains(s))
	return out.String()
}

// baseChains are where packets come in. What the node itself sends to pods passes neither: it is always allowed. Pods
// nobody knows are refused, because nobody knows what they may; who talks to a pod that is gone is told at once.
func baseChains(s snapshot) string {
	return fmt.Sprintf(`table %[1]s {
  chain forward {
    type filter hook forward priority filter; policy accept;
    ct state established,related accept
    ip saddr . ip daddr @self accept
    ip saddr %[2]s ip saddr != @pods counter drop
    ip daddr %[2]s ip daddr != @pods counter reject with icmp type host-unreachable
    ip saddr vmap @egress
    ip daddr vmap @ingress
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname != "%[3]s" accept
    ct state established,related accept
    ip saddr != @pods counter drop
    ip saddr vmap @egress
  }
}
`, tableName, s.podCIDR, s.bridge)
}

// difference gives the transaction that leads from one table to the other; empty when they are the same. What is
// referred to comes before, and goes after, what refers to it.
func difference(before, after table) string {
	var out strings.Builder
	for _, name := range sortedKeys(after.sets) {
		if _, there := before.sets[name]; !there {
			s := after.sets[name]
			fmt.Fprintf(&out, "add %s %s %s { %s }\n", s.kind, tableName, name, s.definition)
		}
	}
	for _, name := range sortedKeys(after.chains) {
		if _, there := before.chains[name]; there {
			continue
		}
		fmt.Fprintf(&out, "add chain %s %s\n", tableName, name)
		for _, line := range after.chains[name] {
			fmt.Fprintf(&out, "add rule %s %s %s\n", tableName, name, line)
		}
	}
	for _, name := range sortedKeys(after.sets) {
		elements(&out, name, before.sets[name].elements, after.sets[name].elements)
	}
	for _, name := range sortedKeys(before.chains) {
		if _, there := after.chains[name]; !there {
			fmt.Fprintf(&out, "flush chain %s %s\ndelete chain %s %s\n", tableName, name, tableName, name)
		}
	}
	for _, name := range sortedKeys(before.sets) {
		if _, there := after.sets[name]; !there {
			fmt.Fprintf(&out, "delete %s %s %s\n", before.sets[name].kind, tableName, name)
		}
	}
	return out.String()
}

func elements(out *strings.Builder, name string, before, after map[string]string) {
	var removed, added []string
	for _, key := range sortedKeys(before) {
		if value, there := after[key]; !there || value != before[key] {
			removed = append(removed, element(key, before[key]))
		}
	}
	for _, key := range sortedKeys(after) {
		if value, there := before[key]; !there || value != after[key] {
			added = append(added, element(key, after[key]))
		}
	}
	if len(removed) > 0 {
		fmt.Fprintf(out, "delete element %s %s { %s }\n", tableName, name, strings.Join(removed, ", "))
	}
	if len(added) > 0 {
		fmt.Fprintf(out, "add element %s %s { %s }\n", tableName, name, strings.Join(added, ", "))
	}
}

func element(key, value string) string {
	if value == "" {
		return key
	}
	return key + " : " + value
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
