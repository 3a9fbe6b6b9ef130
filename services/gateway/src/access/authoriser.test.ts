import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Authoriser } from './authoriser.ts';
import type { AuthMode } from './authoriser.ts';

const KEY = { 'x-api-key': 'e2b_1' };
const BEARER_KEY = { authorization: 'Bearer e2b_1' };
const TOKEN = { authorization: 'Bearer eyJ.x.y' };

/** Who is asked about the sender of these headers, and with what. */
async function askedWith(auth: AuthMode, headers: IncomingHttpHeaders): Promise<string> {
  const questions: string[] = [];
  const authoriser = new Authoriser({
    tokens: { authorise: async (authorization) => void questions.push(`token ${String(authorization)}`) },
    keys: { authorise: async (key, namespace) => void questions.push(`key ${key} ${namespace}`) },
  });
  const denial = await authoriser.authorise(auth, { headers, source: '192.0.2.1' }, { namespace: 'team-a', name: 's' });
  return denial === undefined ? (questions[0] ?? 'no one') : `refused ${String('status' in denial && denial.status)}`;
}

describe('the authoriser', () => {
  it.each<[AuthMode, IncomingHttpHeaders, string]>([
    ['none', {}, 'no one'],
    ['none', KEY, 'no one'],
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
  ])('in mode %s, with %j, asks: %s', async (auth, headers, expected) => {
    expect(await askedWith(auth, headers)).toBe(expected);
  });
});
