import { describe, expect, it } from 'vitest';
import { getClusterPaths, machinePaths } from '../cluster/paths.ts';
import { findInRun, nodeName } from '../node/place.ts';
import { getAddedPlace, listOwnFolders } from './place.ts';
import { chooseIndex } from './record.ts';

const zero = {
  apiserver: 0,
  etcdMetrics: 0,
  controllerManager: 0,
  scheduler: 0,
  registry: 0,
  kubelet: 0,
  kubeletHealth: 0,
  proxyHealth: 0,
  proxyMetrics: 0,
  dns: 0,
  dnsReady: 0,
  kwok: 0,
  nats: 0,
  redis: 0,
};
const context = {
  paths: getClusterPaths('/checkout'),
  choices: { mode: 'node', podNetwork: '10.244.0.0', ports: zero },
} as const;
const place = getAddedPlace(context, { name: 'second', index: 1, ports: { kubelet: 1, kubeletHealth: 2 } });

describe('the index of an added node', () => {
  it('is the lowest that no other node has', () => {
    expect(chooseIndex('second', [])).toBe(1);
    expect(chooseIndex('third', [{ name: 'second', index: 1 }])).toBe(2);
    expect(chooseIndex('fourth', [{ name: 'third', index: 2 }])).toBe(1);
  });

  it('is refused when the network is full', () => {
    const present = [
      { name: 'second', index: 1 },
      { name: 'third', index: 2 },
    ];
    expect(() => chooseIndex('fourth', present)).toThrow(
      'no room for the node fourth beside sandlot, second and third',
    );
  });

  it.each(['', 'Second', '-a', 'a/b', '..', 'a'.repeat(33), nodeName])('is refused for the name %j', (name) => {
    expect(() => chooseIndex(name, [])).toThrow('no node can be named');
  });
});

describe('the place of an added node', () => {
  it('is below the folders that down removes, and outside those of the first node', () => {
    expect(place).toMatchObject({
      run: '/run/sandlot/nodes/second/run',
      lib: '/var/lib/sandlot/nodes/second/lib',
      containerd: '/checkout/.sandlot/data/nodes/second/containerd',
      cgroup: 'sandlot/nodes/second',
      address: '10.244.2.1',
    });
  });

  it('has a folder of its own for each one that a node writes to', () => {
    const seen = listOwnFolders(place).map(([path]) => path);
    const written = [
      machinePaths.containerdSocket,
      machinePaths.gvisorState,
      machinePaths.kubelet,
      '/run/containerd/s',
    ];
    for (const path of written) expect(seen.some((folder) => path.startsWith(`${folder}/`))).toBe(true);
    expect(new Set(listOwnFolders(place).map(([, folder]) => folder)).size).toBe(seen.length);
  });

  it('hides no folder that is mounted later', () => {
    const folders = listOwnFolders(place);
    for (const [index, [seen]] of folders.entries()) {
      const later = folders.slice(index + 1).flat();
      expect(later.filter((path) => path.startsWith(`${seen}/`) && path !== folders.at(-1)?.[1])).toEqual([]);
    }
  });

  it('has at most the length that the kernel allows for the paths of sockets', () => {
    const longest = getAddedPlace(context, { name: 'a'.repeat(32), index: 1, ports: place.ports });
    expect(findInRun(longest, machinePaths.containerdSocket).length).toBeLessThan(108);
  });
});
