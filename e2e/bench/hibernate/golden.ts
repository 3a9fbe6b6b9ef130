import { findCondition, sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxTemplate } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import type { Stand } from './stand.ts';
import { rest, time, watchFor } from './wait.ts';

const START_SECONDS = 20;

/** How a pool fills whose program is ready 20 s after its start; milliseconds. */
export interface GoldenTimes {
  /** From the creation of template and pool to the first member, which boots. */
  readonly bootedMs: number;
  /** From a larger `replicas` to the next member, which is restored. One of each round. */
  readonly restoredMs: readonly number[];
}

/** Fills a pool from a golden snapshot, one member in each round. */
export async function fillGoldenPool(stand: Stand, rounds: number): Promise<GoldenTimes> {
  const name = `${stand.template}-golden`;
  const key = { namespace: stand.namespace, name };
  await using stack = new AsyncDisposableStack();
  const bootedMs = await time(async () => {
    await stand.client.create(sandboxTemplates, buildTemplate(stand, name));
    stack.defer(() => stand.client.delete(sandboxTemplates, key));
    const spec = { replicas: 1, sandboxTemplateRef: { name } };
    await stand.client.create(sandboxWarmPools, { metadata: key, spec });
    stack.defer(() => stand.client.delete(sandboxWarmPools, key));
    await waitUntilAnotherIsReady(stand, name, new Set());
  });
  await waitUntilSaved(stand, name);
  const known = new Set<string>();
  known.add(await waitUntilAnotherIsReady(stand, name, known));
  const restoredMs: number[] = [];
  for (let replicas = 2; replicas <= rounds + 1; replicas += 1) {
    await rest();
    restoredMs.push(
      await time(async () => {
        await stand.client.mergePatch(sandboxWarmPools, key, { spec: { replicas } });
        known.add(await waitUntilAnotherIsReady(stand, name, known));
      }),
    );
  }
  return { bootedMs, restoredMs };
}

function buildTemplate({ namespace, image }: Stand, name: string): Pick<SandboxTemplate, 'metadata' | 'spec'> {
  const container = {
    name: 'sandbox',
    image,
    command: ['sh', '-c', `sleep ${START_SECONDS}; touch /tmp/up; exec sleep infinity`],
    readinessProbe: { exec: { command: ['test', '-e', '/tmp/up'] }, periodSeconds: 1 },
  };
  const spec = { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 0, containers: [container] };
  return { metadata: { namespace, name }, spec: { golden: {}, podTemplate: { spec } } };
}

async function waitUntilSaved({ client, namespace }: Stand, template: string): Promise<void> {
  const fits = ({ metadata, status }: SandboxSnapshot): boolean =>
    findController({ metadata })?.name === template && status?.phase === 'Ready';
  await watchFor(client, {
    what: `the golden snapshot of ${template} is Ready`,
    resource: sandboxSnapshots,
    namespace,
    fits,
  });
}

/** The name of a Ready member of the pool that is not known yet. */
async function waitUntilAnotherIsReady(stand: Stand, pool: string, known: ReadonlySet<string>): Promise<string> {
  const { client, namespace } = stand;
  const fits = ({ metadata, status }: Sandbox): boolean =>
    // The template of the same name owns the Sandbox that is saved.
    findController({ metadata })?.kind === sandboxWarmPools.kind &&
    findController({ metadata })?.name === pool &&
    !known.has(metadata.name ?? '') &&
    findCondition(status?.conditions, 'Ready')?.status === 'True';
  const what = `another member of pool ${pool} is Ready`;
  return (await watchFor(client, { what, resource: sandboxes, namespace, fits })).metadata.name ?? '';
}
