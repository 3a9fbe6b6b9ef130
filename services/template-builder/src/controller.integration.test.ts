// The template-builder as its image runs it, with the rights of its role, on a real API server, Redis, image plane and registry.
// No node runs Pods, so a build that needs a sandbox waits for it.
import { formatRfc3339, sandboxTemplateBuilds } from '@sandlot/api-types';
import { connectBus } from '@sandlot/bus';
import type { EventType } from '@sandlot/bus';
import { startNats } from '@sandlot/local-cluster';
import { silentLogger, systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RealStage, waitUntil } from '../test/real-stage.ts';
import type { Installation } from '../test/real-stage.ts';

let stage: RealStage;
let shared: Installation;
beforeAll(async () => {
  stage = await RealStage.start(['team-a', 'turns', 'crowd', 'killed', 'away', 'events']);
  shared = stage.install('team-a');
  await shared.startPod('one');
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const untilSecretIsGone = (at: Installation, name: string): Promise<void> =>
  waitUntil(
    async () => !(await at.hasSecret(name)),
    () => `Secret ${name} is still there`,
  );

describe.concurrent('the template-builder', () => {
  it('leaves a paused build alone, and says in its log why it failed after its start', async () => {
    const at = shared;
    await at.create('paused', { paused: true, fromTemplateName: 'absent' });
    const paused = await at.untilReason('paused', 'Paused');
    expect(paused.status).toMatchObject({ phase: 'Waiting' });
    expect(paused.status?.attempt).toBeUndefined();
    expect(await at.readLog(paused, 'one')).toEqual([]);
    await at.begin('paused');
    const failed = await at.untilReason('paused', 'TemplateNotFound');
    expect(failed.status).toMatchObject({ phase: 'Failed', failedStep: 'base', attempt: 1 });
    expect(await at.readLog(failed, 'one')).toMatchObject([
      { level: 'error', step: 'base', message: "Build failed: template 'absent' not found" },
    ]);
  });

  it('ends the older of two builds of one template, with its sandbox', async () => {
    const at = shared;
    const older = await at.create('a-older', { templates: [{ name: 'app' }] });
    await at.untilSandboxes(older, [1]);
    const newer = await at.create('b-newer', { templates: [{ name: 'other' }, { name: 'app' }] });
    const ended = await at.untilReason('a-older', 'Superseded');
    expect(ended.status).toMatchObject({ phase: 'Failed' });
    await at.untilSandboxes(ended, []);
    await at.untilSandboxes(newer, [1]);
  });

  it('runs as many builds of a namespace as it may, and the next one when one is deleted', async () => {
    await using at = stage.install('turns');
    await at.startPod('one', { BUILDS_PER_NAMESPACE: '1' });
    const first = await at.create('first');
    await at.untilSandboxes(first, [1]);
    const second = await at.create('second');
    await at.untilReason('second', 'WaitsForTurn');
    await at.remove('first');
    await at.untilSandboxes(second, [1]);
    await at.untilSandboxes(first, []);
    expect(await at.untilReason('second', 'Building')).toMatchObject({ status: { attempt: 1 } });
  });

  it('begins no more than that of many that it finds at its start, though it looks at all of them at once', async () => {
    await using at = stage.install('crowd');
    const names = Array.from({ length: 12 }, (_, index) => `build-${index}`);
    for (const name of names) await at.create(name);
    await at.startPod('one', { BUILDS_PER_NAMESPACE: '2', CONCURRENCY: '12' });
    const list = async () => (await stage.client.list(sandboxTemplateBuilds, { namespace: at.place })).items;
    await waitUntil(
      async () => (await list()).every(({ status }) => status?.phase !== undefined),
      () => 'not every build has a status',
    );
    const begun = (await list()).filter(({ status }) => status?.startedAt !== undefined);
    expect(begun.map(({ status }) => status?.phase)).toEqual(['Building', 'Building']);
  });

  it('goes on with a build in another process after a SIGKILL, and removes the sandbox of the first attempt', async () => {
    await using at = stage.install('killed');
    await at.startPod('one');
    const build = await at.create('first');
    await at.untilSandboxes(build, [1]);
    await at.startPod('two');
    await at.killPod('one');
    await at.untilSandboxes(build, [2]);
    const { status } = await at.untilReason('first', 'Building');
    expect(status).toMatchObject({ phase: 'Building', attempt: 2 });
    const messages = (await at.readLog(build, 'two')).map(({ message }) => message);
    expect(messages).toContain('The build was interrupted and goes on, attempt 2');
    expect(messages.filter((message) => message.startsWith('Building template'))).toHaveLength(2);
  });

  it('deletes an image of a build that is gone from the registry, and leaves that of one that is there', async () => {
    const at = shared;
    const build = await at.create('pushes');
    await at.untilSandboxes(build, [1]);
    const { metadata, data } = await at.readRecord();
    expect(Object.keys(data ?? {})).toEqual(['team-a']);
    const { own, registry } = stage.images;
    const push = (uid: string): Promise<string> =>
      stage.images.push(
        own,
        `${registry.split('/')[1] ?? ''}/team-a/build.images:${metadata.uid ?? ''}-${uid}`,
        `of=${uid}`,
      );
    const gone = await push('0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f');
    const kept = await push(build.metadata.uid ?? '');
    await waitUntil(
      async () => !(await stage.images.has(gone)),
      () => 'the image is still in the registry',
    );
    expect(await stage.images.has(kept)).toBe(true);
  });

  it('deletes the credentials that the API stored for a build once the build has ended', async () => {
    const at = shared;
    const image = stage.base.replace(':1', ':absent');
    const secret = await at.createWithCredentials('ends', { image });
    const waiting = await at.createWithCredentials('waits', { image, paused: true });
    const { status } = await at.untilReason('ends', 'ImageRefused');
    expect(status).toMatchObject({ failedStep: 'base' });
    await untilSecretIsGone(at, secret);
    expect(await at.hasSecret(waiting)).toBe(true);
  });

  it('publishes the events of a build, also of what happened while no process ran', async () => {
    await using nats = await startNats({ jetstream: true });
    await using at = stage.install('events');
    const bus = await connectBus({ url: nats.url, service: 'test', streams: 'none', log: silentLogger });
    const heard: string[] = [];
    for (const type of ['build.started', 'build.ready', 'build.failed'] satisfies EventType[])
      bus.onHint(type, ({ type: of, data }) => heard.push(`${of} ${data.name}`));
    await bus.flush();
    const until = (events: readonly string[]): Promise<void> =>
      waitUntil(
        async () => events.every((event) => heard.includes(event)),
        () => `the events are ${heard.join()}`,
      );
    await at.startPod('one', { NATS_URL: nats.url });
    await at.untilSandboxes(await at.create('first'), [1]);
    await until(['build.started first']);
    await at.killPod('one');
    const status = { phase: 'Ready', finishedAt: formatRfc3339(systemClock.now()) };
    await stage.client.mergePatch(sandboxTemplateBuilds, at.at('first'), { status }, { subresource: 'status' });
    await at.startPod('one', { NATS_URL: nats.url });
    await at.create('second', { fromTemplateName: 'absent' });
    await until(['build.ready first', 'build.started second', 'build.failed second']);
    await bus.close();
  });

  it('deletes the credentials of builds that ended or were deleted while it was away', async () => {
    await using at = stage.install('away');
    await at.startPod('one');
    const [ended, deleted, waiting] = [
      await at.createWithCredentials('ended', { paused: true }),
      await at.createWithCredentials('deleted', { paused: true }),
      await at.createWithCredentials('waiting', { paused: true }),
    ];
    for (const name of ['ended', 'deleted', 'waiting']) await at.untilReason(name, 'Paused');
    await at.killPod('one');
    const status = { phase: 'Failed' };
    await stage.client.mergePatch(sandboxTemplateBuilds, at.at('ended'), { status }, { subresource: 'status' });
    await at.remove('deleted');
    await at.startPod('one');
    await untilSecretIsGone(at, ended);
    await untilSecretIsGone(at, deleted);
    expect(await at.hasSecret(waiting)).toBe(true);
  });
});
