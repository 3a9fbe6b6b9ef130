import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Callers } from './authoriser.ts';
import type { Auth } from './authoriser.ts';

const KEY = { 'x-api-key': 'e2b_1' };
const BEARER_KEY = { authorization: 'Bearer e2b_1' };
const TOKEN = { authorization: 'Bearer eyJ.x.y' };

/** Who is asked about a caller, and with what. */
async function asked(auth: Auth, headers: IncomingHttpHeaders): Promise<string> {
  const calls: string[] = [];
  const callers = new Callers({
    bearers: { judge: async (authorization) => void calls.push(`token ${String(authorization)}`) },
    keys: { judge: async (key, namespace) => void calls.push(`key ${key} ${namespace}`) },
  });
  const verdict = await callers.judge(auth, headers, { namespace: 'team-a', name: 's' });
  return verdict === undefined ? (calls[0] ?? 'nobody') : `refused ${String('status' in verdict && verdict.status)}`;
}

describe('who is asked about a caller', () => {
  it.each<[Auth, IncomingHttpHeaders, string]>([
    ['none', {}, 'nobody'],
    ['none', KEY, 'nobody'],
    ['token', TOKEN, 'token Bearer eyJ.x.y'],
    ['token', { ...KEY, ...TOKEN }, 'token Bearer eyJ.x.y'],
    ['token', {}, 'token undefined'],
    ['apikey', KEY, 'key e2b_1 team-a'],
    ['apikey', BEARER_KEY, 'key e2b_1 team-a'],
    ['apikey', TOKEN, 'refused 401'],
    ['apikey', {}, 'refused 401'],
    ['any', KEY, 'key e2b_1 team-a'],
    ['any', BEARER_KEY, 'key e2b_1 team-a'],
    ['any', { ...KEY, ...TOKEN }, 'key e2b_1 team-a'],
    ['any', { 'x-api-key': '', ...TOKEN }, 'token Bearer eyJ.x.y'],
    ['any', TOKEN, 'token Bearer eyJ.x.y'],
    ['any', {}, 'token undefined'],
  ])('where it is %s, with %j', async (auth, headers, expected) => {
    expect(await asked(auth, headers)).toBe(expected);
  });
});
