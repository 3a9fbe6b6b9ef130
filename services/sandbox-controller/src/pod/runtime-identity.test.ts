import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildSnapshot, kinds, notebook, makePod, published } from '../../test/builders.ts';
import type { PodParts } from '../../test/builders.ts';
import { reducePod } from '../wiring/transform.ts';

const HASH = 'a'.repeat(43);
const MESSAGE = `sandlot-identity:v1:${HASH}:49983,8888`;
const IDENTITY = { publicKeyHash: HASH, ports: [49_983, 8888] };
const sandbox = notebook({ spec: { runtime: { inject: true } } });

/** A Pod as the cache keeps it, whose installer ended with this message. */
function makePodWith(message: string, parts: PodParts = {}, name = 'sandlot-runtime-install'): Pod {
  const pod = makePod(sandbox, parts);
  const installer = { name, image: 'runtime:1', state: { terminated: { exitCode: 0, message } } };
  return reducePod({ ...pod, status: { ...pod.status, initContainerStatuses: [installer] } });
}

const publish = (of: Sandbox, pod?: Pod): Sandbox =>
  published(buildSnapshot({ sandbox: of, ownedPods: pod === undefined ? [] : [pod] }));

describe('the identity of the daemon', () => {
  it('is published with Ready, in the same write', () => {
    const starting = makePodWith(MESSAGE, { ready: false });
    const before = publish(sandbox, starting);
    expect(before.status?.runtime).toBeUndefined();
    const ready = buildSnapshot({ sandbox: before, ownedPods: [makePodWith(MESSAGE)] });
    expect(published(ready).status?.runtime).toEqual({ ready: true, identity: IDENTITY });
    expect(kinds(ready)).toEqual(['patchStatus']);
    expect(kinds({ ...ready, sandbox: published(ready) })).toEqual([]);
  });

  it('stays while the Pod is not Ready for a time, because callers keep their connections', () => {
    const known = publish(sandbox, makePodWith(MESSAGE));
    expect(publish(known, makePodWith(MESSAGE, { ready: false })).status?.runtime).toEqual({ identity: IDENTITY });
  });

  it.each<[string, Sandbox, Pod | undefined]>([
    ['is gone', sandbox, undefined],
    ['is another one, which is not Ready', sandbox, makePodWith(MESSAGE.replace('aaa', 'bbb'), { ready: false })],
    ['shows none', sandbox, makePod(sandbox)],
    ['is about to be suspended', notebook({ spec: { operatingMode: 'Suspended' } }), makePodWith(MESSAGE)],
    ['shows none, and no daemon is asked for any more', notebook(), makePod(sandbox)],
  ])('goes when the Pod %s', (_, { spec }, pod) => {
    const known = publish(sandbox, makePodWith(MESSAGE));
    expect(publish({ ...known, spec }, pod).status?.runtime?.identity).toBeUndefined();
  });

  it('is that of the new Pod once it is Ready', () => {
    const known = publish(sandbox, makePodWith(MESSAGE));
    const next = makePodWith(MESSAGE.replace('aaa', 'bbb'));
    expect(publish(known, next).status?.runtime?.identity?.publicKeyHash).toBe(HASH.replace('aaa', 'bbb'));
  });

  it.each([
    ['an earlier release says nothing', ''],
    ['a later version is unknown', MESSAGE.replace('v1', 'v2')],
    ['the hash is too short', MESSAGE.replace('a', '')],
    ['there is more than the identity', `${MESSAGE}\n`],
    ['a port is no number', MESSAGE.replace('8888', 'x')],
    ['there is no port', `sandlot-identity:v1:${HASH}:`],
  ])('is absent when %s', (_, message) => {
    expect(publish(sandbox, makePodWith(message)).status?.runtime).toEqual({ ready: true });
  });

  it('comes from the installer alone', () => {
    expect(publish(sandbox, makePodWith(MESSAGE, {}, 'setup')).status?.runtime).toEqual({ ready: true });
  });
});

/** A Pod as the cache keeps it, whose only container announces this. */
function makeAnnouncing(value: string, parts: PodParts = {}): Pod {
  const pod = makePod(sandbox, parts);
  return reducePod({ ...pod, spec: { containers: [{ name: 'main', env: [{ name: 'SANDLOT_IDENTITY', value }] }] } });
}

describe('the identity of a daemon without an installer', () => {
  it('is what its Pod announces, and appears with Ready', () => {
    const starting = publish(sandbox, makeAnnouncing(MESSAGE, { ready: false }));
    expect(starting.status?.runtime).toBeUndefined();
    expect(publish(sandbox, makeAnnouncing(MESSAGE)).status?.runtime).toEqual({ ready: true, identity: IDENTITY });
  });

  it('comes neither from annotations nor from an init container of the installer’s name', () => {
    const pod = makePodWith(MESSAGE.replaceAll('a', 'f'), { annotations: { SANDLOT_IDENTITY: MESSAGE } });
    const announcing = { ...pod, spec: makeAnnouncing(MESSAGE).spec };
    expect(publish(sandbox, announcing).status?.runtime?.identity).toEqual(IDENTITY);
    const forged = makePod(sandbox, { annotations: { 'sandlot.dev/identity': MESSAGE, SANDLOT_IDENTITY: MESSAGE } });
    expect(publish(sandbox, forged).status?.runtime).toEqual({ ready: true });
  });

  it('is absent where the variable is empty, and that of the installer counts', () => {
    const pod = { ...makePodWith(MESSAGE), spec: makeAnnouncing('').spec };
    expect(publish(sandbox, pod).status?.runtime?.identity).toEqual(IDENTITY);
    expect(makeAnnouncing('').spec.containers).toEqual([]);
  });
});

describe('what caches keep of the installer', () => {
  it('is its message, and why it was restarted', () => {
    const { status } = makePodWith(MESSAGE);
    const message = { terminated: { message: MESSAGE } };
    expect(status?.initContainerStatuses).toEqual([{ name: 'sandlot-runtime-install', state: message }]);
    const lastState = { terminated: { reason: 'OOMKilled' } };
    const restarted = { name: 'sandlot-runtime-install', restartCount: 1, state: message, lastState };
    const pod = makePod(sandbox);
    expect(
      reducePod({ ...pod, status: { ...pod.status, initContainerStatuses: [restarted] } }).status
        ?.initContainerStatuses,
    ).toEqual([restarted]);
  });
});
