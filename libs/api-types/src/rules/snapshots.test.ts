import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sandbox, snapshot, template } from '../../test/index.ts';
import type { SandboxSnapshot } from '../objects.ts';
import {
  buildGoldenName,
  buildHibernationName,
  buildStartName,
  hashPodTemplate,
  isDefaultClass,
  isGoldenOf,
  needsHibernation,
  isHibernationOf,
  isRestorable,
  isSpent,
} from './snapshots.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 10);

describe('the name of a hibernation', () => {
  it.each([
    ['has the name of the Sandbox and the digest of the UID of its Pod', 'notebook', 'notebook'],
    ['keeps as much of a long name as fits', 'a'.repeat(80), 'a'.repeat(52)],
    ['does not end the part that it keeps in a dash or dot', `${'a'.repeat(50)}.-b`, 'a'.repeat(50)],
  ])('%s', (_what, name, kept) => {
    const built = buildHibernationName(name, 'pod-uid');
    expect(built).toBe(`${kept}-${hash('pod-uid')}`);
    expect(built.length).toBeLessThanOrEqual(63);
  });

  it('is another one for each Pod', () => {
    expect(buildHibernationName('notebook', 'a')).not.toBe(buildHibernationName('notebook', 'b'));
  });
});

describe('the name of the copy from which a Sandbox starts', () => {
  it('has the name of the Sandbox and the digest of its UID', () => {
    expect(buildStartName('notebook', 'uid')).toBe(`notebook-${hash('start/uid')}`);
  });

  it('is another one for each Sandbox of the name, and none of a hibernation', () => {
    const names = [buildStartName('a', 'u'), buildStartName('a', 'v'), buildHibernationName('a', 'u')];
    expect(new Set(names).size).toBe(names.length);
  });

  it('keeps as much of a long name as fits', () => {
    expect(buildStartName('a'.repeat(253), 'uid')).toBe(`${'a'.repeat(52)}-${hash('start/uid')}`);
  });
});

describe('the golden snapshot of a template', () => {
  const python = template({ name: 'python', metadata: { uid: 'uid-p' } });
  const reference = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'python' };
  const ownedBy = (changes: object): SandboxSnapshot =>
    snapshot({ metadata: { ownerReferences: [{ ...reference, uid: 'uid-p', controller: true, ...changes }] } });

  it('has the name of the template and the digest of its UID and blueprint', () => {
    expect(buildGoldenName(python, 'h')).toBe(`python-${hash('golden/uid-p/h')}`);
    expect(buildGoldenName(template({ name: 'p'.repeat(253) }), 'h').length).toBe(63);
    expect(buildGoldenName(python, 'h')).not.toBe(buildGoldenName(python, 'i'));
  });

  it('is one that the template controls', () => {
    expect(isGoldenOf(ownedBy({}), python)).toBe(true);
    expect(isGoldenOf(ownedBy({ apiVersion: 'extensions.agents.x-k8s.io/v1alpha1' }), python)).toBe(true);
  });

  it.each<readonly [string, SandboxSnapshot]>([
    ['with the UID of an earlier template of the name', ownedBy({ uid: 'earlier' })],
    ['that the template owns without controlling it', ownedBy({ controller: false })],
    ['that an object of another kind controls', ownedBy({ kind: 'SandboxWarmPool' })],
    ['that an object of another group controls', ownedBy({ apiVersion: 'example.com/v1' })],
    ['without owner', snapshot()],
    ['of another namespace', { ...ownedBy({}), metadata: { ...ownedBy({}).metadata, namespace: 'other' } }],
  ])('is none %s', (_what, candidate) => {
    expect(isGoldenOf(candidate, python)).toBe(false);
  });
});

describe('the digest of a Pod template', () => {
  const container = { name: 'main', image: 'busybox' };
  const digest = (spec: object): string => hashPodTemplate({ spec: { ...sandbox().spec, ...spec } });
  const plain = digest({});

  it.each([
    ['the order of members', { podTemplate: { spec: { containers: [{ image: 'busybox', name: 'main' }] } } }],
    ['metadata', { podTemplate: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } } }],
    ['a runtime that injects nothing', { runtime: { inject: false } }],
    ['what it starts from, and how it lives', { restoreFrom: { snapshotName: 's' }, ttlSeconds: 1 }],
  ])('does not depend on %s', (_what, spec) => {
    expect(digest(spec)).toBe(plain);
  });

  it.each([
    ['another image', { podTemplate: { spec: { containers: [{ ...container, image: 'debian' }] } } }],
    ['another command', { podTemplate: { spec: { containers: [{ ...container, command: ['sh'] }] } } }],
    ['the order of containers', { podTemplate: { spec: { containers: [{ name: 'first' }, container] } } }],
    ['a daemon', { runtime: { inject: true } }],
  ])('changes with %s', (_what, spec) => {
    expect(digest(spec)).not.toBe(plain);
  });
});

describe('a hibernation of a Sandbox', () => {
  const owner = sandbox({ name: 'notebook' });
  const own = snapshot({ sandbox: owner, spec: { whenSaved: 'StayPaused' } });
  const reference = own.metadata.ownerReferences?.[0];
  if (reference === undefined) throw new Error('the builder gives the snapshot an owner');
  const ownedBy = (changes: object): SandboxSnapshot => ({
    ...own,
    metadata: { ...own.metadata, ownerReferences: [{ ...reference, ...changes }] },
  });

  it('is one that the Sandbox controls', () => {
    expect(isHibernationOf(own, owner)).toBe(true);
  });

  it.each<readonly [string, SandboxSnapshot]>([
    ['with the UID of an earlier Sandbox of the name', ownedBy({ uid: 'earlier' })],
    ['that the Sandbox owns without controlling it', ownedBy({ controller: false })],
    ['that an object of another kind controls', ownedBy({ kind: 'SandboxClaim' })],
    ['that an object of another group controls', ownedBy({ apiVersion: 'example.com/v1' })],
    ['without owner', { ...own, metadata: { ...own.metadata, ownerReferences: [] } }],
    ['of another namespace', { ...own, metadata: { ...own.metadata, namespace: 'other' } }],
    ['of another Sandbox', { ...own, spec: { ...own.spec, sandboxName: 'other' } }],
    ['whose Pod goes on', { ...own, spec: { ...own.spec, whenSaved: 'Resume' } }],
  ])('is none %s', (_what, candidate) => {
    expect(isHibernationOf(candidate, owner)).toBe(false);
  });
});

describe('a snapshot', () => {
  const at = '2026-01-01T00:00:00Z';
  const restore = (state: 'Announced' | 'Restored' | 'Failed' | 'Withdrawn') =>
    snapshot({ status: { phase: 'Ready', restore: { podName: 'p', podUID: 'first', nodeName: 'n', state, at } } });

  it('is not spent before it is announced', () => {
    expect(isSpent(snapshot())).toBe(false);
    expect(isRestorable(snapshot({ status: { phase: 'Ready' } }))).toBe(true);
  });

  it.each(['Announced', 'Restored', 'Failed'] as const)('that is %s is spent for every other Pod', (state) => {
    expect(isSpent(restore(state))).toBe(true);
    expect(isSpent(restore(state), 'second')).toBe(true);
    expect(isSpent(restore(state), 'first')).toBe(false);
    expect(isRestorable(restore(state))).toBe(false);
  });

  it('that was withdrawn may be restored', () => {
    expect(isSpent(restore('Withdrawn'), 'second')).toBe(false);
    expect(isRestorable(restore('Withdrawn'))).toBe(true);
  });

  it.each([
    ['not saved yet', snapshot({ status: { phase: 'Saving' } })],
    ['failed', snapshot({ status: { phase: 'Failed' } })],
    ['without status', snapshot()],
    ['being deleted', snapshot({ metadata: { deletionTimestamp: at }, status: { phase: 'Ready' } })],
  ])('%s may not be restored', (_what, object) => {
    expect(isRestorable(object)).toBe(false);
  });
});

describe('the default class', () => {
  it.each([
    ['true', true],
    ['false', false],
    [undefined, false],
  ])('is the one with the annotation %s: %s', (value, expected) => {
    const annotations = value === undefined ? {} : { 'sandlot.dev/is-default-class': value };
    expect(isDefaultClass({ metadata: { name: 'node', annotations }, spec: {} })).toBe(expected);
  });
});

describe('a suspension', () => {
  it.each([
    ['stops the processes without a strategy', undefined, false],
    ['stops them by the strategy Stop', { type: 'Stop' }, false],
    ['saves memory by the strategy Hibernate', { type: 'Hibernate' }, true],
  ] as const)('%s', (_what, suspensionStrategy, expected) => {
    expect(needsHibernation({ suspensionStrategy })).toBe(expected);
  });
});
