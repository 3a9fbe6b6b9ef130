import { sandboxSnapshots } from '@sandlot/api-types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY, PLACE } from '../../test/harness.ts';
import { addCopy, addStart, COPY } from '../../test/starts.ts';
import { TestAgent } from '../../test/test-agent.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start(await TestAgent.start({ bucket: new Map() }));
  h.addClass({ store: 'Bucket' });
});
afterEach(() => h[Symbol.asyncDispose]());

const key = (name = KEY.name): string => `${PLACE}/${h.snapshot(name).metadata.uid ?? ''}`;
const state = (): string | undefined => h.status().remote?.state;
const asked = (what: string): string[] => h.agent.requests.filter((request) => request.startsWith(what));
const REFUSAL = { status: 500, code: 'RemoteFailed', message: 'the bucket does not answer' };

describe('a finished snapshot of a class that keeps them in the bucket', () => {
  it('is uploaded, and is Ready meanwhile', async () => {
    h.agent.holdsTransfers = true;
    await h.startController();
    h.hibernate();
    await h.until(() => state() === 'Uploading' && asked('PUT /v1/uploads').length === 1);
    expect(h.summary()).toBe('Ready/Saved');
    h.agent.finishTransfers();
    await h.until(() => state() === 'Uploaded');
    expect(h.status().remote?.digest).toBe(`sha256:${key()}`);
    expect([...(h.agent.bucket?.keys() ?? [])]).toEqual([key()]);
  });

  it('is uploaded once', async () => {
    await h.startController();
    h.hibernate();
    await h.until(() => state() === 'Uploaded');
    await h.elapse(30_000);
    expect(asked('PUT /v1/uploads')).toHaveLength(1);
  });

  it('is not, while another class keeps it on its node, nor if it is a copy', async () => {
    h.addClass({ store: 'Node' }, 'other');
    h.removeClass();
    await h.startController();
    h.hibernate({ whenSaved: 'Resume' });
    await h.until(() => h.summary() === 'Ready/Saved');
    await h.elapse(10_000);
    expect(h.status().remote).toBeUndefined();
    h.removeClass('other');
    h.addClass({ store: 'Bucket' });
    await h.until(() => state() === 'Uploaded');
    addStart(h);
    addCopy(h);
    await h.until(() => h.summary(COPY) === 'Ready/Saved');
    await h.elapse(10_000);
    expect(asked('PUT /v1/uploads')).toHaveLength(1);
  });

  it('is tried again later and later, says why, and stays Ready', async () => {
    h.agent.transferRefusal = REFUSAL;
    await h.startController();
    h.hibernate();
    await h.until(() => state() === 'Failed');
    expect(h.status().remote?.message).toBe('the bucket does not answer');
    const at = h.status().remote?.at;
    const perMinute: number[] = [];
    for (let minute = 0; minute < 6; minute += 1) {
      const before = asked('PUT /v1/uploads').length;
      await h.elapse(60_000);
      perMinute.push(asked('PUT /v1/uploads').length - before);
    }
    expect(perMinute[0]).toBeGreaterThan(1);
    expect(perMinute.slice(3).every((tries) => tries <= 1)).toBe(true);
    expect([h.summary(), h.status().remote?.at]).toEqual(['Ready/Saved', at]);
    h.agent.transferRefusal = undefined;
    await h.elapse(120_000);
    await h.until(() => state() === 'Uploaded');
    expect(h.status().remote?.message).toBeUndefined();
  });

  it('has not failed while the node is busy with others', async () => {
    h.agent.transferRefusal = { status: 503, code: 'Busy', message: 'this node transfers 2 snapshots already' };
    await h.startController();
    h.hibernate();
    await h.until(() => asked('PUT /v1/uploads').length > 2);
    expect(state()).toBe('Uploading');
    h.agent.transferRefusal = undefined;
    await h.until(() => state() === 'Uploaded');
  });

  it('is uploaded by the controller that takes over', async () => {
    h.agent.holdsTransfers = true;
    const first = await h.startController();
    h.hibernate();
    await h.until(() => asked('PUT /v1/uploads').length === 1);
    await h.kill(first);
    h.agent.finishTransfers();
    await h.startController();
    await h.until(() => state() === 'Uploaded');
    expect(asked('PUT /v1/uploads')).toHaveLength(2);
  });
});

describe('the deletion of an uploaded snapshot', () => {
  it('removes it from its node, then from the bucket, and then lets the object go', async () => {
    await h.startController();
    h.hibernate();
    await h.until(() => state() === 'Uploaded');
    const path = key();
    h.agent.transferRefusal = REFUSAL;
    await h.deleteSnapshot();
    await h.until(() => asked('DELETE /v1/remote/').length > 0);
    expect(h.isGone()).toBe(false);
    h.agent.transferRefusal = undefined;
    await h.until(() => h.isGone());
    const deletions = h.agent.requests.filter((request) => request.startsWith('DELETE'));
    expect([...new Set(deletions)]).toEqual([`DELETE /v1/snapshots/${path}`, `DELETE /v1/remote/${path}`]);
    expect([h.agent.stored.size, h.agent.bucket?.size]).toEqual([0, 0]);
  });

  it('looks into the bucket also while it is being uploaded', async () => {
    h.agent.holdsTransfers = true;
    await h.startController();
    h.hibernate();
    await h.until(() => asked('PUT /v1/uploads').length === 1);
    await h.deleteSnapshot();
    await h.until(() => asked('DELETE /v1/remote/').length === 1);
    h.agent.finishTransfers();
    await h.until(() => h.isGone());
  });

  it('is done by the agent of another node if its own is gone', async () => {
    await using other = await TestAgent.start({
      node: 'node-2',
      host: '127.0.0.2',
      port: h.agent.port,
      bucket: h.agent.bucket,
    });
    await h.startController();
    h.hibernate();
    await h.until(() => state() === 'Uploaded');
    h.addNode('node-2', '127.0.0.2');
    const path = key();
    h.removeNode();
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect(other.requests).toContain(`DELETE /v1/remote/${path}`);
    expect(h.agent.bucket?.size).toBe(0);
  });

  it('does not wait for a bucket that the installation no longer has', async () => {
    await using without = await TestAgent.start({ host: '127.0.0.3', port: h.agent.port });
    await h.startController();
    h.hibernate();
    await h.until(() => state() === 'Uploaded');
    h.removeAgent();
    h.addNode('node-1', '127.0.0.3');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect(without.requests.some((request) => request.startsWith('DELETE /v1/remote/'))).toBe(true);
  });

  it('asks no bucket for what was never uploaded', async () => {
    h.removeClass();
    h.addClass();
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Ready/Saved');
    await h.deleteSnapshot();
    await h.until(() => h.isGone());
    expect(asked('DELETE /v1/remote/')).toEqual([]);
  });

  it('leaves what a copy needs that has not started yet', async () => {
    await h.startController();
    h.hibernate({ whenSaved: 'Resume' });
    await h.until(() => state() === 'Uploaded');
    const { uid = '' } = h.snapshot().metadata;
    const source = { sandboxUID: 's', podName: 'p', podUID: 'p', nodeName: 'node-1' };
    h.api.seed(sandboxSnapshots, {
      metadata: { namespace: PLACE, name: 'user' },
      spec: { sandboxName: 'fork', whenSaved: 'StayPaused', copyOf: { snapshotName: KEY.name } },
      status: { phase: 'Ready', remoteOf: uid, source },
    });
    await h.deleteSnapshot();
    await h.until(() => h.agent.stored.size === 0);
    await h.elapse(30_000);
    expect([h.isGone(), h.agent.bucket?.size]).toEqual([false, 1]);
    h.api.change(sandboxSnapshots, { namespace: PLACE, name: 'user' }, (copy) => {
      const at = '2026-01-01T12:00:00Z';
      const restore = { podName: 'fork', podUID: 'fork', nodeName: 'node-1', state: 'Restored', at } as const;
      copy.status = { ...copy.status, restore };
    });
    await h.until(() => h.isGone());
    expect(h.agent.bucket?.size).toBe(0);
  });
});
