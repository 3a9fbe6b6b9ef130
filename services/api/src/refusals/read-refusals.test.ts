import type { RequestListener } from 'node:http';
import { expect, it } from 'vitest';
import { startReplica } from '../../test/egress-replica.ts';
import { addUp, readRefusals } from './read-refusals.ts';

const refused = {
  protocol: 'tls',
  host: 'a.com',
  port: 443,
  reason: 'not_listed',
  count: 2,
  last: '2026-01-01T00:00:00Z',
};
const KEY = { namespace: 'team', uid: 'uid-job' };

const read = (port: number): ReturnType<typeof readRefusals> =>
  readRefusals({ host: '127.0.0.1', port }, KEY, new AbortController().signal);

it('the counts of a destination at several replicas are added, and the newest comes first', () => {
  const later = { ...refused, count: 3, last: '2026-01-02T00:00:00Z' };
  const other = { ...refused, host: 'b.com', last: '2026-01-01T12:00:00Z' };
  expect(addUp([refused, other, later])).toEqual([{ ...later, count: 5 }, other]);
});

it('a report names the claim, and is complete when every replica answers', async () => {
  const asked: string[] = [];
  await using replica = await startReplica((request, response) => {
    asked.push(request.url ?? '');
    response.end(JSON.stringify({ refusals: [refused] }));
  });
  expect(await read(replica.port)).toEqual({ refusals: [refused], isComplete: true });
  expect(asked).toEqual(['/refusals/team/uid-job']);
});

it.each<[string, RequestListener, boolean]>([
  ['does not know the claim yet', (_, response) => response.writeHead(404).end('{}'), true],
  ['answers something else', (_, response) => response.end('<html>'), false],
  ['closes the connection', (request) => request.socket.destroy(), false],
])('a replica that %s adds nothing', async (_, answer, isComplete) => {
  await using replica = await startReplica(answer);
  expect(await read(replica.port)).toEqual({ refusals: [], isComplete });
});

it('a report without replicas is incomplete', async () => {
  const servers = { host: 'egress.invalid', port: 1 };
  const report = await readRefusals(servers, KEY, new AbortController().signal);
  expect(report).toEqual({ refusals: [], isComplete: false });
});
