import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { chartFolder, release, render } from './chart.ts';

const FLOW_CONTROL = 'flowcontrol.apiserver.k8s.io/v1';
const KINDS = ['FlowSchema', 'PriorityLevelConfiguration'];
const ENABLED = { flowControl: { enabled: true } };

const isFlowControl = ({ apiVersion }: { readonly apiVersion: string }): boolean => apiVersion === FLOW_CONTROL;

describe('the priorities of requests', () => {
  it('are left to the cluster unless asked for, and where the release has no rights in the cluster', async () => {
    expect((await render()).filter(isFlowControl)).toEqual([]);
    expect((await render({ ...ENABLED, watchNamespaces: ['team-a'] })).filter(isFlowControl)).toEqual([]);
  });
});

describe('a request to a real API server', () => {
  let plane: ControlPlane;
  /** Names of the FlowSchemas and levels by UID. */
  const names = new Map<string, string>();

  beforeAll(async () => {
    plane = await startControlPlane({ crds: [`${chartFolder}/files/crds`] });
    const objects = (await render(ENABLED)).filter(isFlowControl);
    await kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
    for (const kind of KINDS) {
      const path = '{range .items[*]}{.metadata.uid} {.metadata.name}{"\\n"}{end}';
      const lines = (await kubectl(['get', kind, '-o', `jsonpath=${path}`])).trim().split('\n');
      for (const line of lines) names.set(line.split(' ')[0] ?? '', `${kind} ${line.split(' ')[1] ?? ''}`);
    }
    // The API server takes new levels into use a moment after it has stored them.
    while ((await findLevel('warmpool-controller', ['get', 'nodes'])) !== 'PriorityLevelConfiguration sandlot-resyncs');
  });
  afterAll(() => plane.stop());

  async function kubectl(args: readonly string[], input?: string): Promise<string> {
    const { stdout, stderr, code } = await plane.kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** The level of the last request of a kubectl command by this service. The API server decides it before it checks rights. */
  async function findLevel(service: string, args: readonly string[], input?: string): Promise<string | undefined> {
    const account = service.startsWith('system:')
      ? service
      : `system:serviceaccount:${release.namespace}:${release.name}-${service}`;
    const groups = ['--as-group=system:serviceaccounts', '--as-group=system:authenticated'];
    const { stderr } = await plane.kubectl([...args, `--as=${account}`, ...groups, '-v=8'], input);
    const found = [...stderr.matchAll(/X-Kubernetes-Pf-Prioritylevel-Uid: ([0-9a-f-]+)/gi)].at(-1)?.[1];
    return names.get(found ?? '');
  }

  const claims = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxclaims';
  const boxes = '/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes';
  const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/sandlot';
  const create = (path: string): readonly string[] => ['create', '--raw', path, '-f', '-'];

  it.each([
    ['claim-controller', 'creates a Sandbox', create(boxes), 'sandlot-claims'],
    ['claim-controller', 'reads a Sandbox', ['get', '--raw', `${boxes}/one`], 'sandlot-claims'],
    ['api', 'creates a claim', create(claims), 'sandlot-claims'],
    ['gateway', 'reads a Sandbox', ['get', '--raw', `${boxes}/one`], 'sandlot-claims'],
    ['warmpool-controller', 'reads its lease', ['get', '--raw', lease], 'sandlot-claims'],
    ['sandbox-controller', 'creates a Pod', create('/api/v1/namespaces/default/pods'), 'sandlot-starts'],
    ['warmpool-controller', 'creates a Sandbox', create(boxes), 'sandlot-refills'],
    ['warmpool-controller', 'deletes a Sandbox', ['delete', '--raw', `${boxes}/one`], 'sandlot-refills'],
    ['warmpool-controller', 'lists Sandboxes', ['get', '--raw', boxes], 'sandlot-resyncs'],
    ['claim-controller', 'lists claims of all namespaces', ['get', 'sandboxclaims', '-A'], 'sandlot-resyncs'],
    ['claim-controller', 'writes an Event', create('/apis/events.k8s.io/v1/namespaces/default/events'), 'sandlot-resyncs'],
    ['streams', 'reads a Sandbox', ['get', '--raw', `${boxes}/one`], 'workload-low'],
    ['system:kube-scheduler', 'creates a Pod', create('/api/v1/namespaces/default/pods'), 'workload-high'],
  ] as const)('of the %s that %s has its level', async (...[service, , args, level]) => {
    expect(await findLevel(service, args, '{}')).toBe(`PriorityLevelConfiguration ${level}`);
  });
});
