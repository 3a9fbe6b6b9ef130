import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxClaim } from '@sandlot/api-types';
import { createKubeClient, isNotFound, loadCredentials, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import type { Progress } from '@sandlot/local-cluster';
import { parse } from 'yaml';
import { createCommandError } from '../command.ts';
import { UpError } from '../errors.ts';
import { checkoutRoot } from '../paths.ts';
import { waitForPool } from '../pools.ts';
import type { Target } from '../target.ts';
import { claimAndTime } from './claim.ts';
import type { Say } from './narrate.ts';
import { formatTimeline } from './narrate.ts';

const POD_LIMIT_MS = 120_000;
const POLL_MS = 100;
const NOTE = '/data/note';

export interface DemoOptions {
  readonly target: Target;
  /** Image of the sandbox: `busybox`, or our image in the user's registry. */
  readonly image: string;
  readonly progress: Progress;
  readonly say: Say;
}

/** The sandbox that the demonstration leaves running. */
export interface DemoResult {
  readonly sandbox: string;
  readonly namespace: string;
}

/**
 * Shows the user how Sandlot works: a template with a disk, a warm pool, a claim with its timeline, and on real nodes
 * data that outlives its pod. Can be repeated, as it deletes the claim of an earlier run first. Throws UpError.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { target, say } = options;
  const credentials = await loadCredentials({ kubeconfig: target.kubeconfigPath });
  await using client = asDisposable(createKubeClient({ credentials, userAgent: 'sandlot-up' }));
  const namespace = target.demoNamespace;
  say.printHeading(
    `Demonstration: ${target.kind === 'simulated' ? 'a claim gets a sandbox' : 'a sandbox that keeps its disk'}`,
  );
  await prepare(options, client);
  const claim = { ...(parse(await readManifest('claim.yaml')) as SandboxClaim) };
  claim.metadata = { ...claim.metadata, namespace };
  say.printCommand(`kubectl apply -f ${formatManifestPath('claim.yaml')}`);
  const timeline = await claimAndTime(client, claim);
  say.printLines(formatTimeline(timeline));
  if (target.kind !== 'simulated') await showDisk(options, client, timeline.sandbox);
  return { sandbox: timeline.sandbox, namespace };
}

function asDisposable(client: KubeClient): KubeClient & AsyncDisposable {
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

async function prepare({ target, image, progress, say }: DemoOptions, client: KubeClient): Promise<void> {
  const namespace = target.demoNamespace;
  if (namespace !== 'default') {
    const created = await target.kubectl(['create', 'namespace', namespace]);
    if (created.code !== 0 && !created.stderr.includes('AlreadyExists'))
      throw createCommandError('Demonstration', 'kubectl create namespace', created);
  }
  await runKubectl(target, ['delete', 'sandboxclaim', 'demo-1', '--ignore-not-found', '--timeout=60s']);
  say.printCommand(`kubectl apply -f ${formatManifestPath('template.yaml')} -f ${formatManifestPath('pool.yaml')}`);
  const template = (await readManifest('template.yaml')).replace('image: busybox', `image: ${image}`);
  const pool = await readManifest('pool.yaml');
  await runKubectl(target, ['apply', '-f', '-'], `${template}---\n${pool}`);
  const step = progress.startStep('Filling the warm pool');
  try {
    const members = await waitForPool(client, { namespace, name: 'demo-pool' }, (text) => step.update(text));
    step.finish(`${members} sandboxes, each with its own disk`);
  } catch (error) {
    step.fail();
    throw error;
  }
}

async function showDisk({ target, say }: DemoOptions, client: KubeClient, sandbox: string): Promise<void> {
  const namespace = target.demoNamespace;
  const text = `written in the first pod of ${sandbox}`;
  say.printCommand(`kubectl exec ${sandbox} -- sh -c 'echo "${text}" > ${NOTE}'`);
  await runKubectl(target, ['exec', sandbox, '--', 'sh', '-c', `echo "${text}" > ${NOTE} && sync`]);
  const before = await client.get(pods, { namespace, name: sandbox });
  say.printCommand(`kubectl delete pod ${sandbox}`);
  const startedMs = performance.now();
  await runKubectl(target, ['delete', 'pod', sandbox, '--wait=false']);
  const after = await waitForNewPod(client, { namespace, before });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  say.printLines([`back after ${seconds} s: same name, new pod, same disk (${findVolume(after) ?? 'none'})`]);
  say.printCommand(`kubectl exec ${sandbox} -- cat ${NOTE}`);
  const read = (await runKubectl(target, ['exec', sandbox, '--', 'cat', NOTE])).trim();
  if (read !== text || findVolume(after) !== findVolume(before)) {
    throw new UpError({ step: 'Reading the data back', problem: `expected "${text}", got "${read}"` });
  }
  say.printLines([read]);
}

/** Waits until a new pod with the deleted pod's name is Ready. */
async function waitForNewPod(client: KubeClient, gone: { namespace: string; before: Pod }): Promise<Pod> {
  const { namespace, before } = gone;
  const name = before.metadata.name ?? '';
  const deadlineMs = performance.now() + POD_LIMIT_MS;
  while (performance.now() < deadlineMs) {
    const pod = await client.get(pods, { namespace, name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (pod !== undefined && pod.metadata.uid !== before.metadata.uid && isReady(pod)) return pod;
    await sleep(POLL_MS);
  }
  throw new UpError({
    step: 'Waiting for the pod to return',
    problem: `pod ${name} is not back and Ready after ${POD_LIMIT_MS / 1000} s`,
    advice: `See why: kubectl describe pod ${name}; kubectl describe sandbox ${name}`,
  });
}

function isReady(pod: Pod): boolean {
  return (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
}

function findVolume(pod: Pod): string | undefined {
  return pod.spec.volumes?.find(({ name }) => name === 'data')?.persistentVolumeClaim?.claimName;
}

async function runKubectl(target: Target, args: readonly string[], input?: string): Promise<string> {
  const result = await target.kubectl(['-n', target.demoNamespace, ...args], input);
  if (result.code !== 0) throw createCommandError('Demonstration', `kubectl ${args.join(' ')}`, result);
  return result.stdout;
}

function formatManifestPath(file: string): string {
  return `tools/up/demo/${file}`;
}

function readManifest(file: string): Promise<string> {
  return readFile(join(checkoutRoot, formatManifestPath(file)), 'utf8');
}
