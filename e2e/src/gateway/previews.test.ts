import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { eventually } from '../support/team.ts';

const PORT = 3000;
const made = z.object({ url: z.string() });

const stack = new AsyncDisposableStack();
let access: Access;
let id: string;
beforeAll(async () => {
  access = await readAccess();
  const sandbox = stack.use(await openSandbox({ network: { allowPublicTraffic: false } }));
  id = sandbox.sandboxId;
  await sandbox.files.write('site/sub/page.html', 'a private page');
  await sandbox.commands.run(`python3 -m http.server ${PORT} --directory site`, { background: true, timeoutMs: 0 });
});
afterAll(() => stack.disposeAsync());

async function ask(method: string, expiresInSeconds?: number): Promise<Response> {
  const body = method === 'POST' ? { body: JSON.stringify({ port: PORT, expiresInSeconds }) } : {};
  const headers = { 'X-API-Key': access.apiKey, 'Content-Type': 'application/json' };
  return fetch(`${access.apiUrl}/api/v1/claims/${id}/previews`, { method, headers, ...body });
}

/** Opens a URL of a sandbox at the gateway, as a browser whose DNS leads there. */
async function open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
  const { host, pathname, search } = new URL(url);
  const gateway = new URL(access.sandboxUrl);
  const at = { host: gateway.hostname, port: gateway.port, path: `${pathname}${search}` };
  const sent = request({ ...at, headers: { Host: host, Accept: 'text/html', ...headers }, agent: false });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

async function readText(answer: IncomingMessage): Promise<string> {
  return Buffer.concat(await answer.toArray()).toString();
}

describe('a preview', () => {
  it('opens a private port in a browser, with its links, until it is revoked', async () => {
    const { url } = made.parse(await (await ask('POST', 600)).json());
    const page = url.replace('/?', '/sub/page.html?');
    const opened = await open(page);
    expect([opened.statusCode, opened.headers.location]).toEqual([302, '/sub/page.html']);
    const Cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const plain = page.split('?')[0] ?? '';
    await eventually('the server of the sandbox answers', async () => {
      const answer = await open(plain, { Cookie });
      return answer.statusCode === 200 ? await readText(answer) : undefined;
    });
    expect(await readText(await open(plain, { Cookie }))).toBe('a private page');
    expect((await open(plain)).statusCode).toBe(403);
    expect((await open(page.replace(`//${PORT}-`, '//3001-'))).statusCode).toBe(403);
    expect((await ask('DELETE')).status).toBe(204);
    await eventually('the preview is revoked', async () => {
      const { statusCode } = await open(plain, { Cookie });
      return statusCode === 403 ? statusCode : undefined;
    });
  });

  it('expires', async () => {
    const { url } = made.parse(await (await ask('POST', 1)).json());
    await eventually('it has expired', async () => {
      const answer = await open(url);
      return answer.statusCode === 403 ? await readText(answer) : undefined;
    });
  });
});
