package main

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func selector(key, value string) *meta.LabelSelector {
	return &meta.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func port(protocol v1.Protocol, value intstr.IntOrString) networking.NetworkPolicyPort {
	return networking.NetworkPolicyPort{Protocol: &protocol, Port: &value}
}

var world = snapshot{
	podCIDR:    "10.0.0.0/22",
	bridge:     "b0",
	namespaces: map[string]labelSet{"a": {"team": "a"}, "b": {"team": "b"}, "kube-system": {"team": "k"}},
	pods: []pod{
		{"a", "web", "10.0.0.2", labelSet{"app": "web"}, []namedPort{{"http", "tcp", 8080}}},
		{"a", "client", "10.0.0.3", labelSet{"app": "client"}, nil},
		{"b", "web", "10.0.0.4", labelSet{"app": "web"}, []namedPort{{"http", "tcp", 9090}}},
	},
	standIns: []standIn{{pod{"kube-system", "dns", "10.0.0.1", labelSet{"app": "dns"}, nil}, 53, 5353}},
}

func policy(selected *meta.LabelSelector, in []networking.NetworkPolicyIngressRule, out []networking.NetworkPolicyEgressRule) *networking.NetworkPolicy {
	p := &networking.NetworkPolicy{ObjectMeta: meta.ObjectMeta{Namespace: "a", Name: "p", UID: types.UID("u")}}
	p.Spec = networking.NetworkPolicySpec{PodSelector: *selected, Ingress: in, Egress: out}
	if in != nil {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networking.PolicyTypeIngress)
	}
	if out != nil {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networking.PolicyTypeEgress)
	}
	return p
}

func findChain(t *testing.T, rules table, verdicts, ip string) []string {
	t.Helper()
	name := strings.TrimPrefix(rules.sets[verdicts].elements[ip], "jump ")
	return rules.chains[name]
}

func TestIngress(t *testing.T) {
	web := selector("app", "web")
	from := []networking.NetworkPolicyPeer{{PodSelector: selector("app", "client")}}
	cases := map[string]struct {
		rules []networking.NetworkPolicyIngressRule
		want  []string
	}{
		"no rule allows nothing":             {[]networking.NetworkPolicyIngressRule{}, nil},
		"an empty rule allows all":           {[]networking.NetworkPolicyIngressRule{{}}, []string{" return"}},
		"a named port uses the pod's number": {[]networking.NetworkPolicyIngressRule{{Ports: []networking.NetworkPolicyPort{port("TCP", intstr.FromString("http"))}}}, []string{"meta l4proto tcp th dport 8080 return"}},
		"a name of no port matches nothing":  {[]networking.NetworkPolicyIngressRule{{From: from, Ports: []networking.NetworkPolicyPort{port("UDP", intstr.FromString("http"))}}}, nil},
		"a block excludes its exceptions": {
			[]networking.NetworkPolicyIngressRule{{From: []networking.NetworkPolicyPeer{{IPBlock: &networking.IPBlock{CIDR: "10.1.2.3/8", Except: []string{"10.2.0.0/16", "10.2.1.0/24"}}}}}},
			[]string{"ip saddr 10.0.0.0/8 ip saddr != 10.2.0.0/16 ip saddr != 10.2.1.0/24 return"},
		},
		"an IPv6 block matches nothing": {[]networking.NetworkPolicyIngressRule{{From: []networking.NetworkPolicyPeer{{IPBlock: &networking.IPBlock{CIDR: "::/0"}}}}}, nil},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			s := world
			s.policies = []*networking.NetworkPolicy{policy(web, test.rules, nil)}
			rules := compile(s)
			if got, want := findChain(t, rules, ingressMap, "10.0.0.2"), append(test.want, "counter drop"); !slices.Equal(trimLines(got), trimLines(want)) {
				t.Errorf("got %q, want %q", got, want)
			}
			if _, selected := rules.sets[ingressMap].elements["10.0.0.4"]; selected {
				t.Error("a pod of another namespace is selected")
			}
			if len(rules.sets[egressMap].elements) > 0 {
				t.Error("a policy about ingress limits egress")
			}
		})
	}
}

func trimLines(lines []string) []string {
	var result []string
	for _, line := range lines {
		result = append(result, strings.TrimSpace(line))
	}
	return result
}

func TestPeers(t *testing.T) {
	cases := map[string]struct {
		peer networking.NetworkPolicyPeer
		want []string
	}{
		"pods of the policy's namespace": {networking.NetworkPolicyPeer{PodSelector: selector("app", "web")}, []string{"10.0.0.2"}},
		"all pods of namespaces":         {networking.NetworkPolicyPeer{NamespaceSelector: &meta.LabelSelector{}}, []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"}},
		"some pods of some namespaces":   {networking.NetworkPolicyPeer{NamespaceSelector: selector("team", "b"), PodSelector: selector("app", "web")}, []string{"10.0.0.4"}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			s := world
			rule := networking.NetworkPolicyIngressRule{From: []networking.NetworkPolicyPeer{test.peer}}
			s.policies = []*networking.NetworkPolicy{policy(selector("app", "web"), []networking.NetworkPolicyIngressRule{rule}, nil)}
			rules := compile(s)
			line := findChain(t, rules, ingressMap, "10.0.0.2")[0]
			set := strings.TrimSuffix(strings.TrimPrefix(line, "ip saddr @"), " return")
			if got := sortKeys(rules.sets[set].elements); !slices.Equal(got, test.want) {
				t.Errorf("%s has %q, want %q", line, got, test.want)
			}
		})
	}
}

func TestEgressToANamedPortUsesEachPodsNumber(t *testing.T) {
	s := world
	rule := networking.NetworkPolicyEgressRule{Ports: []networking.NetworkPolicyPort{port("TCP", intstr.FromString("http"))}}
	s.policies = []*networking.NetworkPolicy{policy(selector("app", "client"), nil, []networking.NetworkPolicyEgressRule{rule})}
	rules := compile(s)
	line := findChain(t, rules, egressMap, "10.0.0.3")[0]
	set := strings.TrimSuffix(strings.TrimPrefix(line, "ip daddr . meta l4proto . th dport @"), " return")
	if got := sortKeys(rules.sets[set].elements); !slices.Equal(got, []string{"10.0.0.2 . tcp . 8080", "10.0.0.4 . tcp . 9090"}) {
		t.Errorf("%s has %q", line, got)
	}
}

func TestAProcessStandsInForAPod(t *testing.T) {
	dns := []networking.NetworkPolicyPort{port("UDP", intstr.FromInt32(53))}
	everyone := []networking.NetworkPolicyPeer{{NamespaceSelector: &meta.LabelSelector{}}}
	cases := map[string]struct {
		rule networking.NetworkPolicyEgressRule
		want bool
	}{
		"where its port is allowed":  {networking.NetworkPolicyEgressRule{To: everyone, Ports: dns}, true},
		"not for other ports":        {networking.NetworkPolicyEgressRule{To: everyone, Ports: []networking.NetworkPolicyPort{port("UDP", intstr.FromInt32(5353))}}, false},
		"not for other peers":        {networking.NetworkPolicyEgressRule{To: []networking.NetworkPolicyPeer{{PodSelector: selector("app", "dns")}}, Ports: dns}, false},
		"not in a block's exception": {networking.NetworkPolicyEgressRule{To: []networking.NetworkPolicyPeer{{IPBlock: &networking.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"10.0.0.0/8"}}}}}, false},
		"in a block":                 {networking.NetworkPolicyEgressRule{To: []networking.NetworkPolicyPeer{{IPBlock: &networking.IPBlock{CIDR: "0.0.0.0/0"}}}}, true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			s := world
			s.policies = []*networking.NetworkPolicy{policy(selector("app", "client"), nil, []networking.NetworkPolicyEgressRule{test.rule})}
			got := slices.Contains(findChain(t, compile(s), egressMap, "10.0.0.3"), "ip daddr 10.0.0.1 meta l4proto udp th dport 5353 return")
			if got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	s := world
	s.policies = []*networking.NetworkPolicy{policy(selector("app", "web"), []networking.NetworkPolicyIngressRule{{}}, nil)}
	before := compile(s)
	if script := formatDifference(before, compile(s)); script != "" {
		t.Errorf("nothing changed, but: %s", script)
	}
	s.pods = append(slices.Clone(s.pods), pod{"a", "web-2", "10.0.0.9", labelSet{"app": "web"}, []namedPort{{"http", "tcp", 8080}}})
	script := formatDifference(before, compile(s))
	if strings.Contains(script, "chain") || !strings.Contains(script, "add element ip sandlot-policy pods { 10.0.0.9 }") {
		t.Errorf("a new pod should only add elements: %s", script)
	}
	s.policies = nil
	script = formatDifference(before, compile(s))
	if strings.Index(script, "delete element ip sandlot-policy ingress") > strings.Index(script, "delete chain") {
		t.Errorf("a chain is deleted before the elements that refer to it: %s", script)
	}
}
