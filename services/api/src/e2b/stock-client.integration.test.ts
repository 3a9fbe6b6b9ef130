import { sandboxClaims } from '@sandlot/api-types';
import { Sandbox, SandboxNotFoundError, AuthenticationError } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let apiKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  api = await stack.api();
  apiKey = await stack.key({ namespace: 'team-a' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

describe('the stock e2b client', () => {
  it('creates, finds, lists, extends, pauses, resumes and kills a sandbox', async () => {
    const options = { apiKey, apiUrl: api.url, sandboxUrl: api.url };
    const sandbox = await Sandbox.create('base', {
      ...options,
      timeoutMs: 60_000,
      metadata: { user: 'ana b&c=%' },
      envs: { A: '1' },
    });
    const { sandboxId } = sandbox;
    expect(sandboxId).toMatch(/^[a-z][a-z0-9]{19}$/);
    const info = await Sandbox.getInfo(sandboxId, options);
    expect(info).toMatchObject({
      sandboxId,
      templateId: 'base',
      state: 'running',
      metadata: { user: 'ana b&c=%' },
      cpuCount: 2,
      memoryMB: 512,
      lifecycle: { onTimeout: 'kill', autoResume: false },
    });
    expect(info.endAt.getTime() - info.startedAt.getTime()).toBeLessThanOrEqual(61_000);
    const listed = await Sandbox.list({
      ...options,
      query: { metadata: { user: 'ana b&c=%' }, state: ['running'] },
    }).nextItems();
    expect(listed.map(({ sandboxId: id }) => id)).toEqual([sandboxId]);
    const others = await Sandbox.list({ ...options, query: { metadata: { user: 'somebody' } } }).nextItems();
    expect(others).toEqual([]);
    await Sandbox.setTimeout(sandboxId, 600_000, options);
    const extended = await Sandbox.getInfo(sandboxId, options);
    expect(extended.endAt.getTime()).toBeGreaterThan(info.endAt.getTime() + 500_000);
    expect(await Sandbox.pause(sandboxId, options)).toBe(true);
    expect(await Sandbox.pause(sandboxId, options)).toBe(false);
    expect(await Sandbox.getInfo(sandboxId, options)).toMatchObject({ state: 'paused' });
    await expect(Sandbox.setTimeout(sandboxId, 1_000, options)).rejects.toThrow(SandboxNotFoundError);
    const again = await Sandbox.connect(sandboxId, { ...options, timeoutMs: 120_000 });
    expect(again.sandboxId).toBe(sandboxId);
    expect(await Sandbox.getInfo(sandboxId, options)).toMatchObject({
      state: 'running',
      metadata: { user: 'ana b&c=%' },
    });
    expect(await Sandbox.getMetrics(sandboxId, options)).toEqual([]);
    expect(await Sandbox.kill(sandboxId, options)).toBe(true);
    expect(await Sandbox.kill(sandboxId, options)).toBe(false);
    await expect(Sandbox.getInfo(sandboxId, options)).rejects.toThrow(SandboxNotFoundError);
  });

  it('creates a sandbox with volumes of its team, by OpenKruise’s keys, which are no metadata', async () => {
    const options = { apiKey, apiUrl: api.url, sandboxUrl: api.url };
    const prefix = 'e2b.agents.kruise.io/';
    const volumes = [
      { pvName: 'dataset', mountPath: '/in', subPath: 'spring', readOnly: true },
      { pvName: 'results', mountPath: '/out' },
    ];
    const metadata = { user: 'ana', [`${prefix}csi-volume-config`]: JSON.stringify(volumes) };
    const { sandboxId } = await Sandbox.create('unpooled', { ...options, metadata });
    const { spec } = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: sandboxId });
    expect(spec.dynamicVolumes).toEqual([
      { persistentVolumeClaimName: 'dataset', mountPath: '/in', subPath: 'spring', readOnly: true },
      { persistentVolumeClaimName: 'results', mountPath: '/out' },
    ]);
    const shown = (await Sandbox.getInfo(sandboxId, options)).metadata;
    expect(Object.keys(shown).sort()).toEqual([`${prefix}sandbox-resource`, 'user']);
    const bad = { [`${prefix}csi-volume-name`]: '../team-b/dataset', [`${prefix}csi-mount-point`]: '/in' };
    await expect(Sandbox.create('unpooled', { ...options, metadata: bad })).rejects.toThrow(
      `400: ${prefix}csi-volume-name: expected the name of a PersistentVolumeClaim`,
    );
  });

  it('gets its own error classes for mistakes', async () => {
    const options = { apiUrl: api.url, sandboxUrl: api.url };
    await expect(Sandbox.create('nonesuch', { ...options, apiKey })).rejects.toThrow(
      "404: template 'nonesuch' not found",
    );
    await expect(Sandbox.create('base', { ...options, apiKey: `e2b_${'0'.repeat(40)}` })).rejects.toThrow(
      AuthenticationError,
    );
    await expect(Sandbox.connect('nonesuch', { ...options, apiKey })).rejects.toThrow(SandboxNotFoundError);
  });
});
