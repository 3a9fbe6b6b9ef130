import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';
import { formatPodCidr } from './network.ts';
import { nodeName } from './place.ts';

/** kube-proxy in nftables mode. It does not change the machine's connection tracking limits. */
export function proxyComponent({ paths, choices, bin }: ClusterContext): Component {
  const health = `127.0.0.1:${choices.ports.proxyHealth}`;
  return {
    name: 'kube-proxy',
    cwd: '/',
    argv: [
      bin('kube'),
      'kube-proxy',
      '--proxy-mode=nftables',
      `--kubeconfig=${formatComponentKubeconfig(paths, 'proxy')}`,
      `--hostname-override=${nodeName}`,
      `--cluster-cidr=${formatPodCidr(choices.podNetwork)}`,
      `--healthz-bind-address=${health}`,
      `--metrics-bind-address=127.0.0.1:${choices.ports.proxyMetrics}`,
      '--oom-score-adj=0',
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=0s',
      '--conntrack-tcp-timeout-close-wait=0s',
    ],
    probe: { kind: 'http', url: `http://${health}/livez` },
  };
}
