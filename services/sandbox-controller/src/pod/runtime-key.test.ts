import { EXTENSIONS_GROUP, labels } from '@sandlot/api-types';
import type { OwnerReference } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { kinds, notebook, makePod, MOUNTED_RUNTIME, RUNTIME, buildSnapshot } from '../../test/builders.ts';
import { reducePod } from '../wiring/transform.ts';
import { buildPod } from './build-pod.ts';

/** As the second one is in {@link RUNTIME}: a later key, which the daemons know already. */
const [USED = '', NEXT = ''] = RUNTIME.gatewayKeys;
const LATER_KEY = 'dGhlIGtleSBvZiBhIGxhdGVyIGluc3RhbGxhdGlvbiE=';

const buildOwner = (kind: string): OwnerReference => ({
  apiVersion: `${EXTENSIONS_GROUP}/v1beta1`,
  kind,
  name: 'owner',
  uid: 'uid-2',
  controller: true,
});

interface Case {
  readonly owner?: string;
  readonly inject?: boolean;
  /** The key of the installation now. */
  readonly publicKey?: string;
  /** The keys of its gateway now, the one in use first. */
  readonly gatewayKeys?: readonly string[];
  /** The template has a daemon of its own. */
  readonly ownDaemon?: boolean;
  readonly terminating?: boolean;
}

/** Steps for a Sandbox whose Pod was built with the key of {@link RUNTIME}. */
function decideSteps(given: Case): string[] {
  const { owner = 'SandboxWarmPool', inject = true, publicKey = LATER_KEY, ownDaemon, terminating = false } = given;
  const { gatewayKeys = RUNTIME.gatewayKeys } = given;
  const ports = ownDaemon === true ? { ports: [{ containerPort: 49_983 }] } : {};
  const sandbox = notebook({
    metadata: { ownerReferences: [buildOwner(owner)], labels: { [labels.warmPoolMember]: 'hash' } },
    spec: { runtime: { inject }, podTemplate: { spec: { containers: [{ name: 'main', ...ports }] } } },
  });
  const { spec } = buildPod(sandbox, RUNTIME);
  const seen = makePod(sandbox, { terminating, labels: { ...buildPod(sandbox, RUNTIME).metadata.labels } });
  const pod = reducePod({ ...seen, spec: { ...spec, nodeName: 'node-1' } });
  const settings = { runtime: { ...RUNTIME, publicKey, gatewayKeys } };
  return kinds(buildSnapshot({ sandbox, ownedPods: [pod], settings })).filter((kind) => kind === 'deletePod');
}

describe('a Pod whose daemon trusts another key than that of the installation', () => {
  it.each<[string, Case, string[]]>([
    ['is replaced in a pool', {}, ['deletePod']],
    ['is left alone when a claim has it', { owner: 'SandboxClaim' }, []],
    ['is left alone while it terminates', { terminating: true }, []],
    ['is left alone while the installation has no key', { publicKey: '' }, []],
    ['is left alone while a rotation adds a key', { publicKey: `${RUNTIME.publicKey},${LATER_KEY}` }, []],
    [
      'is replaced when a rotation uses a key that it does not know',
      { publicKey: `${LATER_KEY},${RUNTIME.publicKey}` },
      ['deletePod'],
    ],
  ])('%s', (_, given, expected) => {
    expect(decideSteps(given)).toEqual(expected);
  });

  it.each<[string, Case]>([
    ['the key of the installation', { publicKey: RUNTIME.publicKey }],
    ['a daemon of its own', { ownDaemon: true }],
    ['no daemon', { inject: false }],
  ])('is not one with %s', (_, given) => {
    expect(decideSteps(given)).toEqual([]);
  });
});

describe('a member of a pool whose daemon came in the other way', () => {
  const labelled = { ownerReferences: [buildOwner('SandboxWarmPool')], labels: { [labels.warmPoolMember]: 'hash' } };
  const spec = { runtime: { inject: true } };

  it.each([
    ['an installer', RUNTIME, MOUNTED_RUNTIME],
    ['a volume of its image', MOUNTED_RUNTIME, RUNTIME],
  ])('by %s stays', (_, before, now) => {
    const sandbox = notebook({ metadata: labelled, spec });
    const built = buildPod(sandbox, before);
    const seen = makePod(sandbox, { labels: { ...built.metadata.labels } });
    for (const kept of [seen.metadata.labels, {}]) {
      const metadata = { ...seen.metadata, labels: kept };
      const pod = reducePod({ ...seen, metadata, spec: { ...built.spec, nodeName: 'node-1' } });
      expect(kinds(buildSnapshot({ sandbox, ownedPods: [pod], settings: { runtime: now } }))).not.toContain(
        'deletePod',
      );
    }
  });
});

describe('a Pod whose daemon knows the gateway by another key', () => {
  it.each<[string, readonly string[], string[]]>([
    ['is replaced in a pool', [LATER_KEY], ['deletePod']],
    ['is left alone when the gateway goes on to a key that the daemon knows', [NEXT, USED], []],
    ['is left alone when the gateway has announced a key that it does not use yet', [USED, LATER_KEY], []],
    ['is left alone while the installation has no gateway', [], []],
  ])('%s', (_, gatewayKeys, expected) => {
    expect(decideSteps({ publicKey: RUNTIME.publicKey, gatewayKeys })).toEqual(expected);
  });
});
