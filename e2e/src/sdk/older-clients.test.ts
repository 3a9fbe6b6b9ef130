import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';

/** The answer to clients that use only the v1 routes; it has the same shape as on v2. */
const answerSchema = z.looseObject({
  sandboxID: z.string(),
  templateID: z.literal('base'),
  clientID: z.string(),
  envdVersion: z.string().regex(/^\d+\.\d+\.\d+$/),
  envdAccessToken: z.string(),
});

let options: Access;
let sandboxId: string;
beforeAll(async () => {
  options = await readAccess();
  const created = await post('/sandboxes', { templateID: 'base', secure: true, timeout: 120 });
  expect(created.status).toBe(201);
  sandboxId = answerSchema.parse(await created.json()).sandboxID;
});
afterAll(async () => {
  await Sandbox.kill(sandboxId, options);
});

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${options.apiUrl}${path}`, {
    method: 'POST',
    headers: { 'X-API-Key': options.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

const endAtMs = async (): Promise<number> => (await Sandbox.getInfo(sandboxId, options)).endAt.getTime();

describe('an older client', () => {
  it('extends its sandbox with refreshes, which never shorten', async () => {
    const before = await endAtMs();
    expect((await post(`/sandboxes/${sandboxId}/refreshes`, { duration: 1 })).status).toBe(204);
    expect(await endAtMs()).toBe(before);
    expect((await post(`/sandboxes/${sandboxId}/refreshes`, { duration: 3_000 })).status).toBe(204);
    expect(await endAtMs()).toBeGreaterThan(before);
  });

  it('connects and resumes with the v1 routes', async () => {
    expect((await post(`/sandboxes/${sandboxId}/connect`, { timeout: 300 })).status).toBe(200);
    expect((await post(`/sandboxes/${sandboxId}/resume`, { timeout: 300 })).status).toBe(409);
    await Sandbox.pause(sandboxId, options);
    const resumed = await post(`/sandboxes/${sandboxId}/connect`, { timeout: 300 });
    expect(resumed.status).toBe(201);
    expect(answerSchema.parse(await resumed.json()).sandboxID).toBe(sandboxId);
    await Sandbox.pause(sandboxId, options);
    expect((await post(`/sandboxes/${sandboxId}/resume`, { timeout: 300 })).status).toBe(201);
    expect((await Sandbox.getInfo(sandboxId, options)).state).toBe('running');
  });

  it('gets the code in the body of errors', async () => {
    const answer = await post('/sandboxes/nonesuch/connect', { timeout: 300 });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ code: 404 });
    const refused = await post('/sandboxes', { templateID: 'base', timeout: 0 });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ code: 400 });
  });
});
