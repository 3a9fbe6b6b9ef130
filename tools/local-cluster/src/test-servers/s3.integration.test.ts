import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ensurePackages } from '../packages.ts';
import { execOrThrow } from '../process/exec.ts';
import type { S3Server } from './s3.ts';
import { startS3Server } from './s3.ts';

describe('an S3 server', () => {
  it('keeps an object across a kill, and loses it in a wipe', async () => {
    await using server = await startS3Server();
    expect(await put(server, 'folder/note', 'kept')).toBe('200');
    expect(await readFile(join(server.objects, 'folder/note'), 'utf8')).toBe('kept');
    await server.restart();
    expect(await send(server, 'folder/note', [])).toBe('kept200');
    await server.wipe();
    await server.restart();
    expect(await send(server, 'folder/note', [])).toContain('NoSuchKey');
    expect(await put(server, 'another', 'new')).toBe('200');
  });

  it('refuses a wrong secret key', async () => {
    await using server = await startS3Server();
    expect(await put({ ...server, url: server.url, secretKey: 'wrong' }, 'note', '')).toContain(
      'SignatureDoesNotMatch',
    );
  });

  it('listens on the address that it is given, and proves with TLS who it is', async () => {
    await using server = await startS3Server({ address: '127.0.0.2', tls: true });
    expect(server.url).toBe(`https://127.0.0.2:${server.port}`);
    expect(await readStatus(server.url, server.ca)).toBe(403);
    await expect(readStatus(server.url, undefined)).rejects.toThrow('unable to verify');
    await server.wipe();
    await server.restart();
    expect(await readStatus(server.url, server.ca)).toBe(403);
  });
});

type Access = Pick<S3Server, 'url' | 'bucket' | 'region' | 'accessKey' | 'secretKey'>;

async function put(server: Access, key: string, body: string): Promise<string> {
  return send(server, key, ['--request', 'PUT', '--data-binary', body]);
}

/** Sends a signed request with curl. Returns the body of the answer, followed by its status. */
async function send(
  { url, bucket, region, accessKey, secretKey }: Access,
  key: string,
  flags: readonly string[],
): Promise<string> {
  await ensurePackages(['curl']);
  const signature = ['--aws-sigv4', `aws:amz:${region}:s3`, '--user', `${accessKey}:${secretKey}`];
  const unsigned = ['--header', 'x-amz-content-sha256: UNSIGNED-PAYLOAD', '--header', 'content-type: text/plain'];
  const common = ['--silent', '--show-error', '--write-out', '%{http_code}', ...signature, ...unsigned];
  const { stdout } = await execOrThrow(['curl', ...common, ...flags, `${url}/${bucket}/${key}`]);
  return stdout;
}

/** The status of a request without a signature, from a server whose certificate this authority has signed. */
async function readStatus(url: string, ca: string | undefined): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}/snapshots/note`, { ca, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.on('error', reject);
    call.end();
  });
}
