import { annotations, sandboxClaims } from '@sandlot/api-types';
import { deriveTrafficAccessToken, hashApiKey } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

const [OLD, NEXT] = [7, 8].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer];
const [old, next] = [OLD, NEXT].map((key) => key.toString('base64'));

/** The settings of the API between the stages of a rotation of `envd.key`. */
const STAGES = {
  before: { ENVD_TOKEN_KEY: `${old}` },
  prepared: { ENVD_TOKEN_KEY: `${old}`, ENVD_TOKEN_KEY_OTHER: `2:${next}` },
  switched: { ENVD_TOKEN_KEY: `${next}`, ENVD_TOKEN_KEY_NUMBER: '2', ENVD_TOKEN_KEY_OTHER: `1:${old}` },
  finished: { ENVD_TOKEN_KEY: `${next}`, ENVD_TOKEN_KEY_NUMBER: '2' },
};
type Stage = keyof typeof STAGES;

interface Answer {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
}

let stack: Stack;
let key: string;
let replicas: Readonly<Record<Stage, ApiUnderTest>>;
beforeAll(async () => {
  stack = await Stack.start();
  key = await stack.key({ namespace: 'team-a', limits: { createsPerSecond: 0, sandboxes: 0 } });
  const started = Object.entries(STAGES).map(async ([stage, env]) => [stage, await stack.api(env)] as const);
  replicas = Object.fromEntries(await Promise.all(started)) as Record<Stage, ApiUnderTest>;
});
afterAll(async () => {
  await Promise.all(Object.values(replicas).map((replica) => replica[Symbol.asyncDispose]()));
  await stack[Symbol.asyncDispose]();
});

async function create(stage: Stage, headers: Record<string, string> = {}): Promise<Answer> {
  const body = { templateID: 'base', network: { allowPublicTraffic: false } };
  const answer = await replicas[stage].call('POST /v2/sandboxes', { key, body, headers });
  expect(answer.status).toBe(201);
  return answer.body as Answer;
}

async function connect(stage: Stage, { sandboxID }: Answer): Promise<Answer> {
  const path = `POST /v2/sandboxes/${sandboxID}/connect`;
  const answer = await replicas[stage].call(path, { key, body: { timeout: 60 } });
  expect(answer.status).toBe(200);
  return answer.body as Answer;
}

const tokensOf = ({ envdAccessToken, trafficAccessToken }: Answer) => ({ envdAccessToken, trafficAccessToken });

describe('while the key of tokens is rotated', () => {
  const rows: readonly (readonly [made: Stage, asked: readonly Stage[]])[] = [
    ['before', ['prepared', 'switched']],
    ['prepared', ['before', 'switched']],
    ['switched', ['prepared', 'finished']],
  ];
  it.each(rows)('a sandbox made %s gets the same tokens by a replica that is %s', async (made, asked) => {
    const first = await create(made);
    for (const stage of asked) expect(tokensOf(await connect(stage, first))).toEqual(tokensOf(first));
  });

  it('a sandbox made after the switch has tokens of the new key, by its number and the hash of its ports', async () => {
    const { sandboxID, trafficAccessToken } = await create('switched');
    const { metadata } = await stack.client.get(sandboxClaims, { namespace: 'team-a', name: sandboxID });
    expect(metadata.annotations).toMatchObject({
      [annotations.tokenKey]: '2',
      [annotations.trafficTokenHash]: hashApiKey(trafficAccessToken),
    });
    expect(trafficAccessToken).toBe(deriveTrafficAccessToken(NEXT, `team-a/${sandboxID}`));
  });

  it('a create that is repeated after the switch finds its sandbox, and its answer when that is gone', async () => {
    const headers = { 'Idempotency-Key': 'order-1' };
    const first = await create('prepared', headers);
    expect(await create('switched', headers)).toEqual(first);
    const killed = await replicas.switched.call(`DELETE /sandboxes/${first.sandboxID}`, { key });
    expect(killed.status).toBe(204);
    expect(await create('switched', headers)).toEqual(first);
  });
});
