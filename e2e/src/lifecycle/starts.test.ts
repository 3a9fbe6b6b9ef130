import { findCondition, getPodName, sandboxes, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBox, waitForSandbox } from '../support/lifecycle.ts';
import { findReadyCondition, readSandboxNamed } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** Draws a secret and counts in memory, and writes both where a shell can read them. */
const COUNTS =
  's=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d " \\n"); echo $s > /tmp/secret; ' +
  'n=0; while true; do n=$((n+1)); echo $n > /tmp/new; mv /tmp/new /tmp/count; sleep 0.05; done';

let team: Team;
beforeAll(async () => {
  team = await createTeam('starts');
});
afterAll(() => team[Symbol.asyncDispose]());

const POD = { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0, automountServiceAccountToken: false };
const isReady = (sandbox: Sandbox): boolean => findReadyCondition(sandbox)?.status === 'True';

/** Starts a Sandbox and saves it while it runs. Returns the secret of its program. */
async function save(name: string, spec: string): Promise<string> {
  await createBox(team, name, { run: COUNTS, pod: POD });
  await waitForSandbox(team, name, isReady);
  const pod = getPodName(await readSandboxNamed(team, name));
  const secret = await eventually('the program counts', async () => {
    const text = await team.sh(pod, 'cat /tmp/count /tmp/secret 2>/dev/null || true');
    return text.split('\n')[1];
  });
  await team.apply(`
apiVersion: sandlot.dev/v1alpha1
kind: SandboxSnapshot
metadata: {name: ${name}}
spec: {sandboxName: ${name}, ${spec}}
`);
  await eventually(`SandboxSnapshot ${name} is Ready`, async () => {
    const { status } = await team.client.get(sandboxSnapshots, { namespace: team.namespace, name });
    if (status?.phase === 'Failed') throw new Error(JSON.stringify(status.conditions));
    return status?.phase === 'Ready' ? true : undefined;
  });
  return secret;
}

const readSecret = async (sandbox: Sandbox): Promise<string> =>
  (await team.sh(getPodName(sandbox), 'cat /tmp/secret')).trim();

describe('a claim and a pool of the template of a snapshot', () => {
  it('start with the processes of its source, also after the source is gone', async () => {
    const secret = await save('source', 'templateName: prepared');
    await team.kubectl('delete', 'sandbox', 'source');
    await team.apply(`
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxClaim
metadata: {name: started}
spec: {sandboxTemplateRef: {name: prepared}}
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: started}
spec: {replicas: 2, sandboxTemplateRef: {name: prepared}}
`);
    await team.kubectl('wait', '--for=condition=Ready', 'sandboxclaim/started', '--timeout=120s');
    const { items } = await eventually('three Sandboxes are Ready', async () => {
      const { items: listed } = await team.client.list(sandboxes, { namespace: team.namespace });
      return listed.filter(isReady).length === 3 ? { items: listed } : undefined;
    });
    expect(await Promise.all(items.map(readSecret))).toEqual([secret, secret, secret]);
    await eventually('their copies are used up', async () => {
      const { items: left } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
      return left.length === 1 ? true : undefined;
    });
    const [one] = items;
    await team.kubectl('delete', 'pod', getPodName(one!), '--wait=false');
    await team.kubectl('delete', 'sandboxsnapshot', 'source');
    await eventually('the template goes with the snapshot', async () =>
      (await team.client.find(sandboxTemplates, { namespace: team.namespace, name: 'prepared' })) === undefined
        ? true
        : undefined,
    );
    const { status } = await readSandboxNamed(team, items[1]!.metadata.name ?? '');
    expect(findCondition(status?.conditions, 'Ready')?.status).toBe('True');
  });
});

describe('a Sandbox that cannot start from its snapshot', () => {
  it.each([
    ['fails for good and says why', 'fails', 'Fail'],
    ['boots if it may', 'boots', 'Boot'],
  ] as const)('%s', async (_, name, onFailure) => {
    await createBox(team, name, {
      run: COUNTS,
      pod: POD,
      spec: { restoreFrom: { snapshotName: 'absent', onFailure } },
    });
    if (onFailure === 'Boot') {
      await waitForSandbox(team, name, isReady);
      return;
    }
    const failed = await waitForSandbox(team, name, (one) => findReadyCondition(one)?.reason === 'RestoreFailed');
    expect(findReadyCondition(failed)?.message).toContain('"absent"');
    expect(await team.client.find(pods, { namespace: team.namespace, name: getPodName(failed) })).toBeUndefined();
  });
});

/** Is Ready only some seconds after its start, and has drawn its secret then. */
const GOLDEN = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {name: golden}
spec:
  golden: {}
  podTemplate:
    spec:
      runtimeClassName: gvisor
      terminationGracePeriodSeconds: 0
      containers:
        - name: box
          image: busybox
          command: [sh, -c, 'sleep 5; ${COUNTS.replaceAll("'", "''")}']
          readinessProbe: {exec: {command: [cat, /tmp/count]}, periodSeconds: 1}
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: golden}
spec: {replicas: 1, sandboxTemplateRef: {name: golden}}
`;

describe('a pool of a template with a golden snapshot', () => {
  it('boots one Sandbox to save it, and restores later members from it', async () => {
    await team.apply(GOLDEN);
    const snapshot = await eventually('the golden snapshot is Ready', async () => {
      const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
      return items.find(({ spec, status }) => spec.whenSaved === 'Resume' && status?.phase === 'Ready');
    });
    await team.kubectl('scale', 'sandboxwarmpool', 'golden', '--replicas=3');
    const members = await eventually('three members are Ready', async () => {
      const { items } = await team.client.list(sandboxes, { namespace: team.namespace });
      const ready = items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === 'golden').filter(isReady);
      return ready.length === 3 ? ready : undefined;
    });
    const restored = members.filter(({ spec }) => spec.restoreFrom?.snapshotName === snapshot.metadata.name);
    expect(restored.length).toBeGreaterThanOrEqual(2);
    expect(new Set(await Promise.all(restored.map(readSecret))).size).toBe(1);
    const left = await team.client.list(sandboxes, { namespace: team.namespace });
    expect(left.items.map(({ metadata }) => metadata.name)).not.toContain(snapshot.spec.sandboxName);

    const change = { spec: { podTemplate: { spec: { hostname: 'changed' } } } };
    await team.kubectl('patch', 'sandboxtemplate', 'golden', '--type=merge', '-p', JSON.stringify(change));
    await eventually('another snapshot takes its place', async () => {
      const { items } = await team.client.list(sandboxSnapshots, { namespace: team.namespace });
      const golden = items.filter(({ spec }) => spec.whenSaved === 'Resume');
      const isOther = golden.length === 1 && golden[0]?.metadata.uid !== snapshot.metadata.uid;
      return isOther && golden[0]?.status?.phase === 'Ready' ? true : undefined;
    });
  });
});
