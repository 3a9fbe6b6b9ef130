import { matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pickPodNetwork } from '../cluster/choices.ts';
import { getClusterPaths } from '../cluster/paths.ts';
import { isLeftover } from './cleanup.ts';
import { formatContainerdConfig } from './containerd.ts';
import { withoutPortmap } from './firewall.ts';
import { gvisorClass, gvisorPodAnnotations, formatGvisorShimConfig } from './gvisor.ts';
import { formatPodResolvConf } from './kubelet.ts';
import { parseMounts } from './mounts.ts';
import { formatHardwareAddress, getNodeAddress, getPodRange, formatPodCidr } from './network.ts';
import { formatLocalReference } from './registry.ts';

describe('the local name of an image', () => {
  it.each([
    ['busybox', 'HOST/library/busybox:latest'],
    ['busybox:1.36', 'HOST/library/busybox:1.36'],
    ['docker.io/library/busybox', 'HOST/library/busybox:latest'],
    ['sandlot/claim-controller:0.1.0', 'HOST/sandlot/claim-controller:0.1.0'],
    ['ghcr.io/sandlot/claim-controller', 'HOST/sandlot/claim-controller:latest'],
    ['localhost:5000/a:1', 'HOST/a:1'],
    ['registry.k8s.io/pause:3.10', 'HOST/pause:3.10'],
    ['localhost/a/b', 'HOST/a/b:latest'],
    ['a/b@sha256:12', 'HOST/a/b@sha256:12'],
  ])('of %s is %s', (name, expected) => {
    expect(formatLocalReference('HOST', name)).toBe(expected);
  });
});

describe('the pod network', () => {
  it('is 10.244.0.0 if no address of the machine is in it', () => {
    expect(pickPodNetwork(['192.168.1.4', 'default', '::1'])).toBe('10.244.0.0');
  });

  it('avoids every network that the machine has an address in or a route to', () => {
    expect(pickPodNetwork(['10.244.7.9', '10.243.0.0'])).toBe('10.242.0.0');
  });

  it('has the node at its first address', () => {
    expect(getNodeAddress('10.244.0.0')).toBe('10.244.0.1');
    expect(formatPodCidr('10.244.0.0')).toBe('10.244.0.0/22');
  });

  it('has a hardware address of its own, which no change of its ports affects', () => {
    expect(formatHardwareAddress('10.244.0.1')).toBe('02:00:0a:f4:00:01');
  });

  it('gives each node an address and a part of its own', () => {
    const parts = [0, 1, 2].map((index) => [getNodeAddress('10.244.0.0', index), getPodRange('10.244.0.0', index)]);
    expect(parts).toEqual([
      ['10.244.0.1', { first: '10.244.0.2', last: '10.244.1.254' }],
      ['10.244.2.1', { first: '10.244.2.2', last: '10.244.2.254' }],
      ['10.244.3.1', { first: '10.244.3.2', last: '10.244.3.254' }],
    ]);
    expect(getNodeAddress('192.168.244.0', 1)).toBe('192.168.246.1');
  });
});

describe("the pods' resolv.conf", () => {
  it('leaves out loopback resolvers and search domains', () => {
    const machines =
      'search corp.example\nnameserver 127.0.0.53\nnameserver 192.0.2.1\nnameserver ::1\noptions edns0\n';
    expect(formatPodResolvConf(machines)).toBe('nameserver 192.0.2.1\n');
  });
});

describe('parseMounts', () => {
  const mountinfo = [
    '1 0 8:1 / / rw - ext4 /dev/a rw',
    '2 1 0:5 / /run/sandlot rw - tmpfs t rw',
    '3 2 0:6 / /run/sandlot/a\\040b rw - tmpfs t rw',
    '4 1 0:7 / /run/sandlot-other rw - tmpfs t rw',
    '',
  ].join('\n');

  it('returns the mounts at or under a folder, innermost first', () => {
    expect(parseMounts(mountinfo, ['/run/sandlot'])).toEqual(['/run/sandlot/a b', '/run/sandlot']);
  });
});

describe('withoutPortmap', () => {
  it("removes the portmap plugin's chains and every rule that names them", () => {
    const saved = [
      '*nat',
      ':POSTROUTING ACCEPT [0:0]',
      ':CNI-HOSTPORT-DNAT - [0:0]',
      ':CNI-DN-0123 - [0:0]',
      '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
      '-A CNI-HOSTPORT-DNAT -p tcp -j CNI-DN-0123',
      '-A POSTROUTING -s 172.17.0.0/16 -j MASQUERADE',
      'COMMIT',
    ].join('\n');
    expect(withoutPortmap(saved).split('\n')).toEqual([
      '*nat',
      ':POSTROUTING ACCEPT [0:0]',
      '-A POSTROUTING -s 172.17.0.0/16 -j MASQUERADE',
      'COMMIT',
    ]);
  });
});

describe("containerd's configuration", () => {
  const config = formatContainerdConfig({
    root: '/a "b"',
    restrictOomScore: true,
    gvisorConfigFile: '/run/x.toml',
    shims: { runc: '/cache/a', runsc: '/cache/b' },
  });
  const table = (name: string) =>
    config
      .split('\n\n')
      .find((part) => part.startsWith(`[plugins."io.containerd.cri.v1.runtime".${name}]`))
      ?.split('\n')
      .slice(1);

  it('has a runtime for the handler of the RuntimeClass, beside the default one', () => {
    expect(table(`containerd.runtimes.${gvisorClass.handler}`)).toEqual([
      'runtime_type = "io.containerd.runsc.v1"',
      'runtime_path = "/cache/b"',
      'pod_annotations = ["sandlot.dev/restore-snapshot"]',
    ]);
    expect(table(`containerd.runtimes.${gvisorClass.handler}.options`)).toContain('ConfigPath = "/run/x.toml"');
    expect(table('containerd')).toContain('default_runtime_name = "runc"');
  });

  it('quotes paths', () => {
    expect(config).toContain('root = "/a \\"b\\""');
  });

  it('does not make gVisor ignore cgroups, without which no limit holds', () => {
    const lines = formatGvisorShimConfig({ runsc: '/cache/runsc' }).split('\n');
    expect(lines).toContain('binary_name = "/cache/runsc"');
    expect(lines.slice(lines.indexOf('[runsc_config]') + 1)).toEqual([
      'platform = "systrap"',
      'restore-spec-validation = "warning"',
      'allow-rootfs-tar-annotation = "true"',
      'allow-suid = "true"',
      '',
    ]);
  });

  it('passes no annotation on that makes gVisor read or write a file of the node', () => {
    const unsafe = [
      'dev.gvisor.internal.checkpoint.path',
      'dev.gvisor.tar.rootfs.upper',
      'dev.gvisor.spec.rootfs.source',
      'dev.gvisor.spec.cgroup-parent',
      'dev.gvisor.flag.debug-log',
    ];
    expect(unsafe.filter((key) => gvisorPodAnnotations.some((pattern) => matchesGlob(key, pattern)))).toEqual([]);
  });
});

describe('isLeftover', () => {
  const paths = getClusterPaths('/checkout');
  it.each([
    [['/cache/containerd-shim-runc-v2', '-address', '/run/sandlot/containerd.sock'], true],
    [['/cache/containerd-shim-runsc-v1', '-address', '/run/sandlot/containerd.sock', '-id', 'a'], true],
    [['/usr/bin/containerd-shim-runc-v2', '-address', '/run/containerd/containerd.sock'], false],
    [['runsc-sandbox', '--root=/run/sandlot/gvisor/k8s.io', 'boot'], true],
    [['runsc-gofer', '--root=/run/sandlot/gvisor/k8s.io', 'gofer'], true],
    [['/cache/runsc', '--root=/run/sandlot/gvisor/k8s.io', 'wait'], true],
    [['runsc-sandbox', '--root=/run/docker/runtime-runsc/moby', 'boot'], false],
    [['/cache/kube', 'kubelet', '--config=/checkout/.sandlot/kubelet.json'], true],
    [['/cache/kube', 'kubectl', '--kubeconfig=/checkout/.sandlot/kubeconfig'], false],
    [['/cache/network-policy', 'serve', '/checkout/.sandlot/data/pki/network-policy.kubeconfig'], true],
    [['/cache/pause', '/checkout/.sandlot/data/nodes/second'], true],
    [['/pause'], false],
    [['tail', '-f', '/checkout/.sandlot/logs/etcd.log'], false],
  ])('for %j is %s', (argv, expected) => {
    expect(isLeftover({ argv, cwd: '/' }, paths)).toBe(expected);
  });

  it('also recognises our programs by their working folder, but not what a person runs there', () => {
    const inState = (argv: string[]) => isLeftover({ argv, cwd: '/checkout/.sandlot/data/control-plane' }, paths);
    expect(inState(['/cache/kube', 'etcd', '--data-dir=etcd'])).toBe(true);
    expect(inState(['/cache/kube', 'kubectl', 'get', 'pods'])).toBe(false);
    expect(inState(['bash'])).toBe(false);
  });
});
