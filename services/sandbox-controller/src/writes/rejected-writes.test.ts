import { sandboxes } from '@sandlot/api-types';
import { events } from '@sandlot/kube';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withAdvice } from './advice.ts';
import { Harness, KEY } from '../../test/harness.ts';
import { RejectedWrites } from './rejected-writes.ts';
import { NOW_MS, WORK, notebook } from '../../test/builders.ts';

const ofPods = { verb: 'create', resource: 'pods' } as const;
const ofClaims = { verb: 'create', resource: 'persistentvolumeclaims' } as const;

interface Refused {
  readonly what: string;
  readonly match: { readonly verb: 'create'; readonly resource: string };
  readonly status: 403 | 422;
  readonly words: string;
  readonly advice: string;
}

const forbidden = 'pods "notebook" is forbidden: ';
const noRuntimeClass: Refused = {
  what: 'a RuntimeClass that does not exist',
  match: ofPods,
  status: 403,
  words: `${forbidden}pod rejected: RuntimeClass "gvisor" not found`,
  advice: 'Create that RuntimeClass, or change spec.podTemplate.spec.runtimeClassName',
};
const refused: readonly Refused[] = [
  noRuntimeClass,
  {
    what: 'a quota that is used up',
    match: ofPods,
    status: 403,
    words: `${forbidden}exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10`,
    advice: 'Raise the ResourceQuota',
  },
  {
    what: 'a Pod that its namespace does not allow',
    match: ofPods,
    status: 403,
    words: `${forbidden}violates PodSecurity "restricted:latest": privileged (container "main" must not set it)`,
    advice: 'Change the Pod template',
  },
  {
    what: 'a ServiceAccount that does not exist',
    match: ofPods,
    status: 403,
    words: `${forbidden}error looking up service account team-a/bot: serviceaccount "bot" not found`,
    advice: 'Create that ServiceAccount',
  },
  {
    what: 'a container beyond the LimitRange',
    match: ofPods,
    status: 403,
    words: `${forbidden}maximum memory usage per Container is 1Gi, but limit is 2Gi`,
    advice: 'the LimitRange of the namespace',
  },
  {
    what: 'a Pod template that is not valid',
    match: ofPods,
    status: 422,
    words: 'Pod "notebook" is invalid: spec.containers[0].image: Required value',
    advice: '',
  },
  {
    what: 'a disk beyond the quota',
    match: ofClaims,
    status: 403,
    words: 'persistentvolumeclaims "work-notebook" is forbidden: exceeded quota: team, requested: requests.storage=1Gi',
    advice: 'Raise the ResourceQuota',
  },
];

describe('a write that the API server rejects', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await Harness.start();
  });
  afterEach(() => h[Symbol.asyncDispose]());

  const ready = () => h.status().conditions?.find(({ type }) => type === 'Ready');
  const listEvents = () => h.api.objects(events).filter(({ type }) => type === 'Warning');
  const attempts = ({ match }: Refused): number =>
    h.api.requests().filter(({ verb, resource }) => verb === match.verb && resource === match.resource).length;
  const refuse = ({ match, status, words }: Refused): void => {
    const reason = status === 403 ? 'Forbidden' : 'Invalid';
    h.api.faults.failNext({ match, answer: { status, reason, message: words }, times: 10_000 });
  };

  it.each(refused)(
    'is reported once, in the server’s words with advice, and retried with back-off: $what',
    async (row) => {
      refuse(row);
      await h.startController();
      h.create({ volumeClaimTemplates: [WORK] });
      const reason = row.status === 422 ? 'InvalidConfiguration' : 'ReconcilerError';
      await h.until(() => ready()?.reason === reason, 'the failure is published');
      expect(ready()).toMatchObject({ status: 'False', message: expect.stringContaining(row.words) as string });
      expect(ready()?.message).toContain(row.advice);
      await h.elapse(60_000);
      expect(listEvents().map((event) => [event.reason, event.note])).toEqual([[reason, ready()?.message]]);
      expect(attempts(row)).toBeLessThan(12);
      expect(h.writes().filter((write) => write === 'patch sandboxes/status')).toHaveLength(1);
    },
  );

  it('is retried by itself, and succeeds within a minute of the remedy', async () => {
    refuse(noRuntimeClass);
    await h.startController();
    h.create();
    await h.until(() => ready()?.reason === 'ReconcilerError', 'the failure is published');
    await h.elapse(80_000);
    h.api.faults.clear();
    await h.elapse(46_000);
    expect(h.pod()).toBeDefined();
    h.runPod();
    await h.untilReady();
  });

  it('is not retried because of other events, but at once when the Sandbox is edited', async () => {
    refuse(noRuntimeClass);
    await h.startController();
    h.create();
    await h.until(() => ready()?.reason === 'ReconcilerError', 'the failure is published');
    await h.elapse(100_000);
    const before = attempts(noRuntimeClass);
    for (let count = 0; count < 5; count += 1) {
      h.api.change(sandboxes, KEY, (object) => (object.metadata.annotations = { count: String(count) }));
      await h.elapse(100);
    }
    expect(attempts(noRuntimeClass)).toBeLessThanOrEqual(before + 1);
    h.api.faults.clear();
    h.edit((spec) => (spec.podTemplate.spec.runtimeClassName = 'runc'));
    await h.elapse(300);
    expect(h.pod()).toBeDefined();
  });

  it('does not keep a Sandbox from being suspended', async () => {
    refuse(noRuntimeClass);
    await h.startController();
    h.create();
    await h.until(() => ready()?.reason === 'ReconcilerError', 'the failure is published');
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect(ready()?.reason).toBe('SandboxSuspended');
  });
});

describe('rejections in memory', () => {
  const failure = { phase: 'pod', message: 'no' } as const;

  it('double their delay each time, up to 45 s', async () => {
    const clock = new FakeClock(NOW_MS);
    const rejected = new RejectedWrites(clock);
    const delays: number[] = [];
    for (let count = 0; count < 10; count += 1) {
      const delayMs = (rejected.record(notebook(), failure).retryAtMs ?? 0) - clock.now();
      delays.push(delayMs);
      await clock.advance(delayMs);
    }
    expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 45_000, 45_000]);
  });

  it('hold for the rejected generation until the time to retry', async () => {
    const clock = new FakeClock(NOW_MS);
    const rejected = new RejectedWrites(clock);
    rejected.record(notebook(), failure);
    expect(rejected.listPending(notebook())).toEqual([{ ...failure, retryAtMs: NOW_MS + 250 }]);
    expect(rejected.listPending(notebook({ metadata: { generation: 2 } }))).toEqual([]);
    await clock.advance(250);
    expect(rejected.listPending(notebook())).toEqual([]);
  });
});

describe('advice', () => {
  it('is added only for known words', () => {
    expect(withAdvice('something new')).toBe('something new');
  });
});
