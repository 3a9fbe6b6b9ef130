import { annotations } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildBegun, buildHibernation, buildNode, buildSleeper, NEW, OLD } from '../../test/hibernations.ts';
import { listCandidates, needsRefresh } from './candidates.ts';

const uploaded = { remote: { state: 'Uploaded', digest: 'd', at: '2026-01-01T12:00:00Z' } } as const;
const onlyFiles = { ...buildHibernation('a', { fingerprint: undefined }) };
const ofAnother: SandboxSnapshot = { ...buildHibernation('b'), spec: { sandboxName: 'a', whenSaved: 'StayPaused' } };

describe('the memory of a Sandbox that sleeps', () => {
  it.each([
    ['on a node that has its gVisor', {}, [buildNode('node-a', OLD)], 'Memory', false],
    ['on a node with another gVisor', {}, [buildNode('node-a', NEW), buildNode('node-b', OLD)], 'Files', true],
    ['there, without files', { hasFiles: false }, [buildNode('node-a', NEW)], 'Volumes', true],
    ['on a node that does not say which it has', {}, [buildNode('node-a'), buildNode('node-b', NEW)], 'Unknown', false],
    ['on a node that is gone', {}, [buildNode('node-b', NEW)], 'Unknown', false],
    [
      'in a bucket, with its gVisor elsewhere',
      uploaded,
      [buildNode('node-a', NEW), buildNode('b', OLD)],
      'Memory',
      false,
    ],
    ['in a bucket, with its gVisor nowhere', uploaded, [buildNode('node-a', NEW), buildNode('b')], 'Files', true],
  ] as const)('%s', (...[, status, nodes, outlook, needs]) => {
    const cluster = { sandboxes: [buildSleeper('a')], snapshots: [buildHibernation('a', status)], nodes };
    const [candidate, ...others] = listCandidates(cluster);
    expect(candidate).toMatchObject({ outlook });
    expect(others).toEqual([]);
    expect(candidate && needsRefresh(candidate, false)).toBe(needs);
    expect(candidate && needsRefresh(candidate, true)).toBe(true);
  });

  it.each([
    ['its nodes take no Pods', buildSleeper('a'), NEW, true, 'every node that has its data is being emptied'],
    ['its node says nothing', buildSleeper('a'), undefined, false, 'no node component that could restore it is Ready'],
    ['its daemon hung', buildSleeper('a', { [annotations.unresponsiveDaemon]: '1' }), OLD, false, 'did not answer'],
  ])('stays as it is, if %s', (...[, sandbox, fingerprint, isCordoned, why]) => {
    const nodes = [buildNode('node-a', fingerprint, isCordoned)];
    const [candidate] = listCandidates({ sandboxes: [sandbox], snapshots: [buildHibernation('a')], nodes });
    expect(candidate?.obstacle).toContain(why);
  });

  it('is given up with its daemon that hung, if it cannot be restored in any case', () => {
    const sandboxes = [buildSleeper('a', { [annotations.unresponsiveDaemon]: '1' })];
    const nodes = [buildNode('node-a', NEW)];
    expect(listCandidates({ sandboxes, snapshots: [buildHibernation('a')], nodes })[0]?.obstacle).toBeUndefined();
  });
});

describe('no candidate', () => {
  const nodes = [buildNode('node-a', NEW)];
  const { status, ...asleep } = buildSleeper('a');
  it.each([
    ['runs', { ...asleep, status, spec: { ...asleep.spec, operatingMode: 'Running' as const } }, buildHibernation('a')],
    ['has files alone', buildSleeper('a'), onlyFiles],
    ['was edited while it slept', { ...asleep, status: { ...status, keeps: 'Files' as const } }, buildHibernation('a')],
    ['does not own the snapshot that names it', buildSleeper('a'), ofAnother],
    [
      'is being deleted',
      { ...asleep, status, metadata: { ...asleep.metadata, deletionTimestamp: 'now' } },
      buildHibernation('a'),
    ],
  ])('is a Sandbox that %s', (_, sandbox, snapshot) => {
    expect(listCandidates({ sandboxes: [sandbox], snapshots: [snapshot], nodes })).toEqual([]);
  });
});

it('with a node only its Sandboxes are candidates, and those that a run left awake', () => {
  const cluster = {
    sandboxes: [buildSleeper('a'), buildSleeper('b'), buildBegun('c', 'Idle')],
    snapshots: [buildHibernation('a'), buildHibernation('b', { nodeName: 'node-b' })],
    nodes: [buildNode('node-a', NEW), buildNode('node-b', NEW)],
  };
  expect(listCandidates(cluster, 'node-b').map(({ sandbox }) => sandbox.metadata.name)).toEqual(['b', 'c']);
  expect(listCandidates(cluster).filter((each) => needsRefresh(each, false))).toHaveLength(3);
});
