import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { runEgressCommand } from './egress.ts';

const refusals = [
  { protocol: 'tls', host: 'pypi.org', port: 443, reason: 'not_listed', count: 12, last: '2026-01-02T00:00:00Z' },
  { protocol: 'dns', host: 'a.com', reason: 'not_listed', count: 1, last: '2026-01-01T00:00:00Z' },
];

/** Runs the command against an API that gives this answer. */
async function run(args: readonly string[], answer: { readonly status: number; readonly body: string }) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url ?? ''} ${String(request.headers['x-api-key'])}`);
    response.writeHead(answer.status).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { E2B_API_URL: `http://127.0.0.1:${port}`, E2B_API_KEY: 'e2b_0' };
  const written: string[] = [];
  try {
    const out = { write: (text: string) => written.push(text) };
    await runEgressCommand(args, { out, env, signal: new AbortController().signal });
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return { text: written.join(''), asked };
}

it('shows what was refused to a claim', async () => {
  const body = JSON.stringify({ refusals, complete: true });
  const { text, asked } = await run(['job', '-n', 'team'], { status: 200, body });
  expect(asked).toEqual(['/api/v1/claims/job/egress?namespace=team e2b_0']);
  expect(text.split('\n').map((line) => line.split(/\s+/))).toEqual([
    ['LAST', 'COUNT', 'DESTINATION', 'PROTOCOL', 'REASON'],
    ['2026-01-02T00:00:00Z', '12', 'pypi.org:443', 'tls', 'not_listed'],
    ['2026-01-01T00:00:00Z', '1', 'a.com', 'dns', 'not_listed'],
    [''],
  ]);
});

it('says when a replica did not answer', async () => {
  const { text } = await run(['job'], { status: 200, body: '{"refusals":[],"complete":false}' });
  expect(text).toContain('Nothing was refused.\nA replica of the proxy did not answer');
});

it('prints JSON for programs', async () => {
  const body = JSON.stringify({ refusals, complete: true });
  expect(JSON.parse((await run(['job', '-o', 'json'], { status: 200, body })).text)).toEqual({
    refusals,
    complete: true,
  });
});

it.each([
  [
    'an error of the API',
    ['job'],
    { status: 403, body: '{"code":403,"message":"names of egress are not enabled"}' },
    /403: names/,
  ],
  ['a server that is none', ['job'], { status: 200, body: '<html>' }, /not that of an API/],
  ['a call without a claim', [], { status: 200, body: '{}' }, /takes the name of one claim/],
])('says what is wrong: %s', async (...[, args, answer, message]) => {
  await expect(run(args, answer)).rejects.toThrow(message);
});

it('asks for the address of the API and the key', async () => {
  const terminal = { out: { write: () => true }, env: {}, signal: new AbortController().signal };
  await expect(runEgressCommand(['job'], terminal)).rejects.toThrow('the API is not known');
});
