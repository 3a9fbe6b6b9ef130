// The floor: the time of the same writes by a bare client without decisions, on the same server in the same run.
import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { buildAdoptionPatch } from '@sandlot/blueprint';
import { createInformer, pods } from '@sandlot/kube';
import type { JsonObject, Pod } from '@sandlot/kube';
import { deleteClaim } from './bursts.ts';
import { waitUntilGone } from './gone.ts';
import * as objects from './objects.ts';
import { buildLatencies, Observer } from './observer.ts';
import type { Latencies } from './observer.ts';
import { drive, pause, runInParallel } from './shapes.ts';
import type { Shape } from './shapes.ts';
import { NAMESPACE } from './stage.ts';
import type { Stage } from './stage.ts';

/** Which writes a claim takes. */
export type FloorKind = 'warm' | 'cold' | 'batch' | 'life' | 'coldLife';

/** Status writes of a batch, beside its commits. */
const BATCH_STATUS_WRITES = 5;

/** The kinds whose claims are deleted as soon as they are Ready. */
export function isLife(kind: FloorKind): boolean {
  return kind === 'life' || kind === 'coldLife';
}

/** `allGoneMs` of lives only: from the first claim sent until the last Sandbox and Pod is gone. */
export interface Floor extends Latencies {
  readonly allGoneMs?: number;
}

export async function measureFloor(stage: Stage, kind: FloorKind, shape: Shape): Promise<Floor> {
  const { client } = stage;
  const template = await client.create(sandboxTemplates, objects.buildTemplateObject());
  const pool = await client.create(sandboxWarmPools, objects.buildPoolObject(0));
  const members: Sandbox[] = [];
  const adopts = kind === 'warm' || kind === 'batch';
  await runInParallel(adopts ? shape.claims : 0, async (index) => {
    members.push(await makeMember(stage, objects.buildMemberObject(pool, template, index)));
  });
  await pause(1_000);
  await using observer = await Observer.watch(client);
  await stage.collectGarbage();
  const bare = new BareClient({ stage, template, pool, members, observer });
  await bare.whilePodsAreWatched(() => runKind(bare, kind, shape));
  await observer.waitForReadyCount(shape.claims);
  const gone = isLife(kind) ? { allGoneMs: await waitUntilGone(stage, observer) } : {};
  const latencies = buildLatencies(observer.times.values());
  await clear(stage);
  return { ...latencies, ...gone };
}

function runKind(bare: BareClient, kind: FloorKind, shape: Shape): Promise<void> {
  const send: Record<Exclude<FloorKind, 'batch'>, (name: string) => Promise<void>> = {
    warm: (name) => bare.warm(name),
    cold: (name) => bare.cold(name),
    life: (name) => bare.life(name),
    coldLife: (name) => bare.coldLife(name),
  };
  return kind === 'batch' ? bare.batch(shape.claims) : drive(shape, 'floor', send[kind]);
}

/** Creates a member like one of a pool: the cost of a write depends on the size of the object. */
async function makeMember({ client }: Stage, member: Sandbox): Promise<Sandbox> {
  const { metadata } = await client.create(sandboxes, member);
  const key = { namespace: NAMESPACE, name: metadata.name ?? '' };
  const status = objects.buildReadySandboxStatus() as unknown as JsonObject;
  return client.mergePatch(sandboxes, key, { status }, { subresource: 'status', fieldManager: 'sandbox-controller' });
}

interface BareDeps {
  readonly stage: Stage;
  readonly template: SandboxTemplate;
  readonly pool: SandboxWarmPool;
  readonly members: Sandbox[];
  readonly observer: Observer;
}

class BareClient {
  readonly #deps: BareDeps;
  readonly #podReady = new Map<string, () => void>();

  constructor(deps: BareDeps) {
    this.#deps = deps;
  }

  async warm(name: string): Promise<void> {
    const { stage, observer } = this.#deps;
    observer.recordSending(name);
    const claim = await stage.client.create(sandboxClaims, objects.claimObject(name));
    const sandboxName = await this.#adopt(claim);
    await this.#publish(claim, objects.boundStatus(sandboxName));
    await observer.waitForReady(name);
  }

  async cold(name: string): Promise<void> {
    const { stage, template, observer } = this.#deps;
    const { client } = stage;
    observer.recordSending(name);
    const claim = await client.create(sandboxClaims, objects.claimObject(name));
    await this.#start(await client.create(sandboxes, objects.buildColdObject(claim, template)));
    await this.#publish(claim, objects.boundStatus(name));
    await observer.waitForReady(name);
  }

  /** A cold claim from its creation to its deletion. */
  async coldLife(name: string): Promise<void> {
    await this.cold(name);
    await deleteClaim(this.#deps.stage.client, name);
  }

  /** A warm one, from the creation of the member that it adopts. */
  async life(name: string): Promise<void> {
    const { stage, pool, template, members } = this.#deps;
    const member = objects.buildMemberObject(pool, template, Number(name.split('-').at(-1)));
    members.push(await this.#start(await stage.client.create(sandboxes, member)));
    await this.warm(name);
    await deleteClaim(stage.client, name);
  }

  /** The Sandbox with its status, once its Pod is Ready. */
  async #start(sandbox: Sandbox): Promise<Sandbox> {
    const { client } = this.#deps.stage;
    const { name = '' } = sandbox.metadata;
    const started = new Promise<void>((resolve) => this.#podReady.set(name, resolve));
    await client.create(pods, objects.buildPodObject(sandbox));
    await started;
    this.#podReady.delete(name);
    const status = objects.buildReadySandboxStatus() as unknown as JsonObject;
    return client.mergePatch(sandboxes, { namespace: NAMESPACE, name }, { status }, { subresource: 'status' });
  }

  async batch(count: number): Promise<void> {
    const { stage, observer } = this.#deps;
    observer.recordSending('floor', count);
    const claim = await stage.client.create(sandboxClaims, objects.claimObject('floor', { replicas: count }));
    const names: string[] = [];
    for (let wave = 0; wave < BATCH_STATUS_WRITES; wave += 1) {
      const size = Math.ceil(count / BATCH_STATUS_WRITES);
      const adopted = Array.from({ length: Math.min(size, count - names.length) }, () => this.#adopt(claim));
      names.push(...(await Promise.all(adopted)));
      const shown = names.map((name, slot) => ({ name, slot, ready: true }));
      const { sandbox, ...status } = objects.boundStatus(names[0] ?? '');
      const counts = { claimedReplicas: names.length, readyReplicas: names.length };
      await this.#publish(claim, { ...status, mode: 'Detached', sandbox, ...counts, sandboxes: shown }, false);
    }
  }

  async whilePodsAreWatched(work: () => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const informer = createInformer({ client: this.#deps.stage.client, resource: pods, namespaces: [NAMESPACE] });
    informer.onChange(({ next }) => {
      if (next !== undefined && isReady(next)) this.#podReady.get(next.metadata.name ?? '')?.();
    });
    const running = informer.run(stop.signal);
    await informer.waitUntilSynced();
    await work();
    stop.abort();
    await running;
  }

  async #adopt(claim: SandboxClaim): Promise<string> {
    const { stage, template, members } = this.#deps;
    const member = members.pop();
    if (member === undefined) throw new Error('the floor has no member left');
    const { namespace, name = '' } = member.metadata;
    const patch = buildAdoptionPatch({ claim, template, member, poolName: objects.POOL });
    await stage.client.mergePatch(sandboxes, { namespace, name }, patch);
    return name;
  }

  async #publish(claim: SandboxClaim, status: object, guarded = true): Promise<void> {
    const { namespace, name = '', resourceVersion } = claim.metadata;
    const metadata = guarded ? { resourceVersion } : {};
    const patch = { metadata, status } as unknown as JsonObject;
    await this.#deps.stage.client.mergePatch(sandboxClaims, { namespace, name }, patch, { subresource: 'status' });
  }
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true;
}

/** Deletes everything of the floor before the controllers start. */
async function clear({ plane, client }: Stage): Promise<void> {
  const kinds = 'sandboxclaims,sandboxes,sandboxwarmpools,sandboxtemplates,pods';
  const { code, stderr } = await plane.kubectl(['delete', kinds, '--all', '-n', NAMESPACE, '--now', '--wait=false']);
  if (code !== 0) throw new Error(`the floor cannot be cleared: ${stderr}`);
  const left = async (): Promise<number> => {
    const lists = await Promise.all([sandboxes, sandboxClaims, pods].map((kind) => countOf(client, kind)));
    return lists.reduce((sum, count) => sum + count, 0);
  };
  while ((await left()) > 0) await pause(200);
}

async function countOf(client: Stage['client'], resource: Parameters<Stage['client']['listAll']>[0]): Promise<number> {
  return (await client.listAll(resource, { namespace: NAMESPACE })).items.length;
}
