import { annotations, hashPodTemplate, labels } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildDisk, getStep, MOUNTED_RUNTIME, notebook, NOW_MS, RUNTIME, WORK } from '../../test/builders.ts';
import type { PodParts } from '../../test/builders.ts';
import { acts, hibernation, later, markedPod, podOf, scene, sleeper, SUSPENDED } from '../../test/hibernations.ts';
import type { HibernationParts } from '../../test/hibernations.ts';
import { decide } from '../decide.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { sortNewestFirst } from './hibernations.ts';

type Row = readonly [sentence: string, snapshot: Snapshot, acts: readonly string[]];
const STOP = { suspensionStrategy: { type: 'Stop' } } as const;

/** A Sandbox that should run and has no Pod. */
const waking = (hibernations: readonly SandboxSnapshot[] = [], spec = {}): Snapshot => scene({ spec, hibernations });
const restore = (state: 'Announced' | 'Restored' | 'Failed' | 'Withdrawn', more = {}): HibernationParts => ({
  restore: { state, podUID: 'pod-2', ...more },
});

describe('a Sandbox that wakes without a Pod', () => {
  const rows: readonly Row[] = [
    ['begins anew without a hibernation', waking(), ['create Pod']],
    ['goes on from its hibernation', waking([hibernation()]), ['restore saved-pod-1']],
    ['goes on after a Pod that never began', waking([hibernation(restore('Withdrawn'))]), ['restore saved-pod-1']],
    [
      'takes the newest one and drops the older one first',
      waking([hibernation({ of: 'pod-1' }), hibernation({ of: 'pod-0', created: later(-99) })]),
      ['drop saved-pod-0'],
    ],
    ['drops what a Pod has had', waking([hibernation(restore('Restored'))]), ['drop saved-pod-1']],
    [
      'says that a restore failed',
      waking([hibernation(restore('Failed', { message: 'bad image' }))]),
      ['drop saved-pod-1', 'Event RestoreFailed'],
    ],
    ['waits to see whether the Pod that is gone had begun', waking([hibernation(restore('Announced'))]), []],
    [
      'does not wait longer than a minute',
      waking([hibernation(restore('Announced', { at: later(-61) }))]),
      ['drop saved-pod-1', 'Event RestoreFailed'],
    ],
    [
      'drops a save whose Pod is gone',
      waking([hibernation({ phase: 'Saving' })]),
      ['drop saved-pod-1', 'Event HibernationFailed'],
    ],
    [
      'says that the data is lost',
      waking([hibernation({ phase: 'Failed', says: ['DataLost', 'node-1 is gone'] })]),
      ['drop saved-pod-1', 'Event RestoreFailed'],
    ],
    ['leaves a failed save for its owner to read', waking([hibernation({ phase: 'Failed' })]), ['create Pod']],
    ['ignores what is being deleted', waking([hibernation({ terminating: true })]), ['create Pod']],
    ['drops its memory by the strategy Stop', waking([hibernation()], STOP), ['drop saved-pod-1']],
  ];
  it.each(rows)('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('creates nothing when the hibernation that has to go first stays', () => {
    const stays = {
      ...waking([hibernation(restore('Restored'))]),
      failures: [{ phase: 'hibernation', message: 'no' } as const],
    };
    expect(acts(stays)).toEqual(['Event ReconcilerError']);
  });

  it('looks at the API server before anything is created, and starts again for that', () => {
    const unsure = { ...waking([hibernation()]), needsMemoryLook: true };
    expect(acts(unsure)).toEqual([]);
    expect(decide(unsure)).toEqual([{ kind: 'requeueNow' }]);
  });

  it('looks again when the outcome of a restore is overdue', () => {
    expect(requeueAtMs(waking([hibernation(restore('Announced'))]))).toBe(NOW_MS + 50_000);
  });

  it('waits for its disks before it restores', () => {
    const spec = { volumeClaimTemplates: [WORK] };
    const disks = [buildDisk(notebook())];
    expect(acts(waking([hibernation()], spec))).toEqual([]);
    const same = hibernation({ annotations: { [annotations.savedTemplate]: hashPodTemplate(sleeper(spec)) } });
    expect(acts(scene({ spec, disks, hibernations: [same] }))).toEqual(['restore saved-pod-1']);
  });

  it('begins anew after an edit of its Pod template, and says so', () => {
    const podTemplate = { spec: { containers: [{ name: 'main', image: 'another' }] } };
    const plan = decide(waking([hibernation()], { podTemplate }));
    expect(acts(waking([hibernation()], { podTemplate }))).toEqual(['drop saved-pod-1', 'Event RestoreFailed']);
    expect(getStep(plan, 'recordEvent').note.message).toContain('podTemplate of the Sandbox was edited since');
  });

  it('does not take another order of the same template for an edit', () => {
    const [a, b] = [
      { name: 'main', image: 'busybox' },
      { image: 'busybox', name: 'main' },
    ];
    const hash = (container: { name: string; image: string }) =>
      hashPodTemplate(sleeper({ podTemplate: { spec: { containers: [container] } } }));
    expect(hash(a)).toBe(hash(b));
  });

  it('begins anew where an init container would bring its daemon, and says so', () => {
    const spec = { runtime: { inject: true } };
    const saved = hibernation({ annotations: { [annotations.savedTemplate]: hashPodTemplate(sleeper(spec)) } });
    const snapshot = scene({ spec, hibernations: [saved], settings: { runtime: RUNTIME } });
    expect(acts(snapshot)).toEqual(['drop saved-pod-1', 'Event RestoreFailed']);
    expect(acts({ ...snapshot, settings: { ...snapshot.settings, runtime: MOUNTED_RUNTIME } })).toEqual([
      'restore saved-pod-1',
    ]);
  });
});

describe('hibernations', () => {
  it('are looked at in the order of their age, the newest first; their names decide within a second', () => {
    const [old, one, other] = [hibernation({ created: later(-9) }), hibernation({ of: 'a' }), hibernation({ of: 'b' })];
    const young = hibernation({ of: 'c', created: later(0) });
    const sorted = sortNewestFirst([one, young, old, other]);
    expect([sorted[0], sorted[1]]).toEqual([young, old]);
    expect(sortNewestFirst([other, old, one, young])).toEqual(sorted);
  });
});

describe('a Pod that is restored', () => {
  /** A marked Pod that waits for its start, with the hibernation that it was built from. */
  const starting = (parts: PodParts, from: HibernationParts | undefined, spec = {}): Snapshot => {
    const hibernations = from === undefined ? [] : [hibernation(from)];
    return scene({ spec, ownedPods: [markedPod('pod-2', 'saved-pod-1', parts)], hibernations });
  };
  const pending = { phase: 'Pending' } as const;
  const useless = ['delete Pod', 'drop saved-pod-1', 'Event RestoreFailed'];
  const lost = [{ type: 'PodReadyToStartContainers', status: 'False' as const }];
  const rows: readonly Row[] = [
    ['waits for its announcement', starting(pending, {}), []],
    ['waits for its outcome', starting(pending, restore('Announced')), []],
    ['keeps the memory until it runs', starting(pending, restore('Restored')), []],
    [
      'is done when it runs: the memory goes',
      starting({}, restore('Restored')),
      ['drop saved-pod-1', 'Event Restored'],
    ],
    [
      'is done too when it has ended since',
      starting({ phase: 'Succeeded' }, restore('Restored')),
      ['drop saved-pod-1', 'Event Restored'],
    ],
    [
      'keeps the memory when it ended without ever being restored',
      starting({ phase: 'Failed' }, {}),
      ['Event PodFailed'],
    ],
    ['is an ordinary Pod after that', starting({}, undefined), []],
    ['without a report of its restore keeps the memory', starting({}, restore('Announced')), []],
    ['is replaced when its restore failed', starting(pending, restore('Failed')), useless],
    [
      'is replaced when its node lost the data',
      starting(pending, { phase: 'Failed', says: ['DataLost', 'gone'] }),
      useless,
    ],
    [
      'is replaced when another Pod has had the memory',
      starting(pending, restore('Restored', { podUID: 'pod-9' })),
      useless,
    ],
    ['waits to see whether another Pod had begun', starting(pending, restore('Announced', { podUID: 'pod-9' })), []],
    ['is not affected by a Pod that never began', starting(pending, restore('Withdrawn', { podUID: 'pod-9' })), []],
    [
      'is replaced when its memory is gone before it starts',
      starting(pending, undefined),
      ['delete Pod', 'Event RestoreFailed'],
    ],
    [
      'is replaced when its memory is deleted before it starts',
      starting(pending, { terminating: true }),
      ['delete Pod', 'Event RestoreFailed'],
    ],
    [
      'is replaced when its node lost it later',
      starting({ conditions: lost }, undefined),
      ['delete Pod', 'Event RestoreFailed'],
    ],
    ['that runs is left alone when its memory is deleted', starting({}, { terminating: true }), []],
    [
      'that runs is left alone when another Pod has had its memory',
      starting({}, restore('Restored', { podUID: 'pod-9' })),
      [],
    ],
    ['is left alone when it ended', starting({ phase: 'Failed' }, undefined), ['Event PodFailed']],
    ['on its node is restored although its strategy is Stop now', starting(pending, {}, STOP), []],
    ['without a node is replaced if its strategy is Stop now', withoutNode(starting(pending, {}, STOP)), useless],
    ['that is going is left alone', starting({ terminating: true }, restore('Restored')), []],
  ];
  it.each(rows)('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('that runs without its memory for a minute has lost it, and says so', () => {
    const ready = (seconds: number): Snapshot => {
      const conditions = [{ type: 'Ready', status: 'True' as const, lastTransitionTime: later(seconds) }];
      return starting({ conditions }, restore('Announced'));
    };
    expect(acts(ready(-59))).toEqual([]);
    expect(requeueAtMs(ready(-59))).toBe(NOW_MS + 1_000);
    expect(acts(ready(-60))).toEqual(['drop saved-pod-1', 'Event RestoreFailed']);
  });

  it('stays as it is in an installation that no longer hibernates', () => {
    const off = starting(pending, undefined);
    expect(acts({ ...off, settings: { ...off.settings, snapshotsEnabled: false } })).toEqual([]);
  });

  it('does not become useless by the end of a minute, unless another Pod is the reason', () => {
    const overdue = starting(pending, restore('Announced', { podUID: 'pod-9', at: later(-61) }));
    expect(acts(overdue)).toEqual(useless);
    expect(acts(starting(pending, restore('Announced', { at: later(-61) })))).toEqual([]);
  });
});

function withoutNode(snapshot: Snapshot): Snapshot {
  return { ...snapshot, ownedPods: snapshot.ownedPods.map((pod) => ({ ...pod, spec: { containers: [] } })) };
}

describe('a Sandbox that wakes while its Pod exists', () => {
  const POD = podOf('pod-1');
  const beside = (from: HibernationParts, spec = {}): Snapshot =>
    scene({ spec, ownedPods: [POD], hibernations: [hibernation(from)] });
  it.each<Row>([
    ['cancels the save, and the Pod goes on', beside({ phase: 'Saving' }), ['drop saved-pod-1']],
    [
      'forgets a failed attempt, or the next suspension would count it',
      beside({ phase: 'Failed' }),
      ['drop saved-pod-1'],
    ],
    ['replaces a Pod that stands still', beside({}), ['delete frozen Pod']],
    ['replaces it too by the strategy Stop', beside({}, STOP), ['delete frozen Pod']],
    [
      'keeps the memory of a Pod that is going',
      scene({ ownedPods: [podOf('pod-1', { terminating: true })], hibernations: [hibernation()] }),
      [],
    ],
    ['keeps a Pod whose save somebody deletes: its node lets it go on', beside({ terminating: true }), []],
    [
      'drops a memory that is older than the Pod',
      beside({ of: 'pod-0', created: later(-9_999) }),
      ['drop saved-pod-0'],
    ],
    ['keeps a memory that is younger than the Pod it sees', beside({ of: 'pod-9', created: later(0) }), []],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });
});

describe('a suspended Sandbox without a Pod', () => {
  const asleep = (from: HibernationParts, spec = {}): Snapshot =>
    scene({ spec: { ...SUSPENDED, ...spec }, hibernations: [hibernation(from)] });
  const drops = (snapshot: Snapshot): string[] => acts(snapshot).filter((act) => !act.startsWith('Event Suspended'));
  it.each<Row>([
    ['keeps its memory', asleep({}), ['Event Hibernated']],
    ['keeps a save that may still be completed', asleep({ phase: 'Saving' }), []],
    ['keeps what may be withdrawn', asleep(restore('Announced')), []],
    ['drops what a Pod has had', asleep(restore('Restored')), ['drop saved-pod-1']],
    ['says that its last restore failed', asleep(restore('Failed')), ['drop saved-pod-1', 'Event RestoreFailed']],
    ['drops its memory by the strategy Stop', asleep({}, STOP), ['drop saved-pod-1']],
  ])('%s', (_, snapshot, wanted) => {
    expect(drops(snapshot)).toEqual(wanted);
  });
});

describe('at the end of a Sandbox', () => {
  it('its memory is dropped with the Pod', () => {
    const expired = {
      type: 'Ready',
      status: 'False',
      reason: 'SandboxExpired',
      message: 'm',
      lastTransitionTime: later(-9),
    } as const;
    const sandbox = { ...sleeper({ shutdownTime: later(-10) }), status: { conditions: [expired] } };
    const snapshot = {
      ...scene({ ownedPods: [podOf('pod-1')], hibernations: [hibernation({ phase: 'Saving' })] }),
      sandbox,
    };
    expect(acts(snapshot)).toEqual(['delete Pod', 'drop saved-pod-1']);
  });
});

describe('the Pod to restore', () => {
  const onNode = { key: 'metadata.name', operator: 'In', values: ['node-1'] };
  function build(podSpec = {}, image?: string) {
    const spec = {
      podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }], ...podSpec } },
      runtime: { inject: true },
    };
    const saved = { [annotations.savedTemplate]: hashPodTemplate(sleeper(spec)) };
    const noted = image === undefined ? saved : { ...saved, [annotations.savedRuntimeImage]: image };
    const snapshot = scene({
      spec,
      hibernations: [hibernation({ annotations: noted })],
      settings: { runtime: MOUNTED_RUNTIME },
    });
    return getStep(decide(snapshot), 'createPod').pod;
  }
  const terms = (podSpec = {}): unknown => {
    const affinity = build(podSpec).spec['affinity'];
    return (affinity as { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: unknown } }).nodeAffinity
      .requiredDuringSchedulingIgnoredDuringExecution;
  };

  it('carries the mark as annotation and label, and goes to the node that has the data', () => {
    const { metadata } = build();
    expect(metadata.annotations?.[annotations.restoreSnapshot]).toBe('saved-pod-1');
    expect(metadata.labels?.[labels.restoreSnapshot]).toBe('saved-pod-1');
    expect(terms()).toEqual({ nodeSelectorTerms: [{ matchFields: [onNode] }] });
  });

  it('keeps the affinity of its template: every alternative gets the node as well', () => {
    const zone = { key: 'zone', operator: 'In', values: ['a'] };
    const disk = { key: 'disk', operator: 'Exists' };
    const given = [{ matchExpressions: [zone] }, { matchExpressions: [disk] }, {}];
    const podAntiAffinity = { a: 1 };
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: given },
        preferredDuringSchedulingIgnoredDuringExecution: [],
      },
      podAntiAffinity,
    };
    expect(terms({ affinity })).toEqual({
      nodeSelectorTerms: [
        { matchExpressions: [zone], matchFields: [onNode] },
        { matchExpressions: [disk], matchFields: [onNode] },
      ],
    });
    expect(build({ affinity }).spec['affinity']).toMatchObject({ podAntiAffinity });
  });

  it('has the sidecars of its template and no other init container', () => {
    const sidecar = { name: 'proxy', restartPolicy: 'Always' };
    expect(build({ initContainers: [{ name: 'setup' }, sidecar] }).spec.initContainers).toEqual([sidecar]);
    expect(build({ initContainers: [{ name: 'setup' }] }).spec.initContainers).toBeUndefined();
  });

  it('mounts the daemon that the saved Pod mounted, also after an upgrade', () => {
    const findImage = (image?: string) => build({}, image).spec.volumes?.[0]?.['image'];
    expect(findImage('registry.test/runtime:0')).toMatchObject({ reference: 'registry.test/runtime:0' });
    expect(findImage()).toMatchObject({ reference: RUNTIME.image });
  });

  it('cannot be asked for by a template', () => {
    const forged = { [annotations.restoreSnapshot]: 'of-another-tenant' };
    const podTemplate = { metadata: { annotations: forged, labels: forged }, spec: { containers: [{ name: 'main' }] } };
    const { pod } = getStep(decide(waking([], { podTemplate })), 'createPod');
    expect(JSON.stringify(pod)).not.toContain('of-another-tenant');
  });
});
