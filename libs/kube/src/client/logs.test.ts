import { describe, expect, it } from 'vitest';
import { readError, startServer, testClient, until } from '../../test/http-server.ts';

const key = { namespace: 'n', name: 'a' };
const credentialsOf = (server: Awaited<ReturnType<typeof startServer>>) => ({ credentials: server.credentials() });

describe('the log of a container', () => {
  it('is asked for with times and limits, and comes as bytes', async () => {
    await using server = await startServer((_seen, _respond, response) => {
      response.writeHead(200);
      response.write(Buffer.from([0xff, 0x0a]));
      response.end('end');
    });
    await using client = testClient(credentialsOf(server));
    const chunks: Buffer[] = [];
    const options = { container: 'main', sinceTime: '2026-01-01T00:00:00Z', limitBytes: 9, tailLines: 7 };
    for await (const chunk of client.readLog(key, options)) chunks.push(chunk);
    expect(Buffer.concat(chunks)).toEqual(Buffer.from([0xff, 0x0a, ...Buffer.from('end')]));
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v1/namespaces/n/pods/a/log?container=main&sinceTime=2026-01-01T00%3A00%3A00Z&tailLines=7&limitBytes=9&timestamps=true',
    ]);
  });

  it('that cannot be read is the error of the server', async () => {
    const body = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' };
    await using server = await startServer((_seen, respond) => respond({ status: 403, body }));
    await using client = testClient(credentialsOf(server));
    const read = async (): Promise<void> => {
      for await (const chunk of client.readLog(key, { container: 'main' })) expect(chunk).toBeUndefined();
    };
    expect(await readError(read())).toMatchObject({ code: 'Forbidden', resource: 'pods/log' });
    const unnamed = client.readLog({ ...key, name: '../a' }, { container: 'main' });
    expect(await readError(unnamed[Symbol.asyncIterator]().next())).toMatchObject({ code: 'NotFound' });
    expect(server.seen).toHaveLength(1);
  });

  it('ends at the server when the reader leaves it', async () => {
    let isClosed = false;
    await using server = await startServer((_seen, _respond, response) => {
      response.writeHead(200).write('x'.repeat(1_000));
      response.stream.once('close', () => (isClosed = true));
    });
    await using client = testClient(credentialsOf(server));
    for await (const chunk of client.readLog(key, { container: 'main' })) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await until(() => isClosed);
  });
});
