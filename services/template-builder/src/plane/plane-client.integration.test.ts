import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@sandlot/std';
import { deriveBuilderToken, TokenKeys } from '@sandlot/tenancy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatHost, RealImages } from '../../test/real-images.ts';
import type { LogStore } from '../log/log-store.ts';
import { servePort } from '../port/serve.ts';
import { PlaneClient } from './plane-client.ts';
import { PlaneError } from './plane.ts';

const MOST_BYTES = 65_536;
const { signal } = new AbortController();

let images: RealImages;
let client: PlaneClient;
let base: string;
beforeAll(async () => {
  images = await RealImages.start([`-file-bytes=${MOST_BYTES}`]);
  client = openClient(images.plane.socketPath);
  base = await images.push(images.foreign, 'library/base:1', 'maker=tenant');
});
afterAll(() => images[Symbol.asyncDispose]());

function openClient(socketPath: string): PlaneClient {
  return new PlaneClient({ socketPath, registry: images.registry, clock: systemClock });
}

/** What the call throws. */
async function findRefusal(asked: Promise<unknown>): Promise<PlaneError> {
  const error: unknown = await asked.catch((thrown: unknown) => thrown);
  if (!(error instanceof PlaneError)) throw new Error(`no refusal: ${String(error)}`);
  return error;
}

const place = (digit: string) => ({ repository: 'team-a/build.files', filesHash: digit.repeat(64) });

/** An archive in pieces, so that the plane sees its length only at the end. */
function* cut(bytes: number): Generator<Buffer> {
  for (let rest = bytes; rest > 0; rest -= 16_384) yield Buffer.alloc(Math.min(rest, 16_384), 'x');
}

describe('the files of a build', () => {
  it('are absent, kept, found, opened and replaced', async () => {
    expect(await client.hasFiles(place('1'), signal)).toBe(false);
    expect(await findRefusal(client.openFiles(place('1'), signal))).toMatchObject({ reason: 'not_found' });
    await client.keepFiles(place('1'), Readable.from(['one']), signal);
    expect(await client.hasFiles(place('1'), signal)).toBe(true);
    expect(await text(await client.openFiles(place('1'), signal))).toBe('one');
    await client.keepFiles(place('1'), Readable.from(['an', 'other']), signal);
    expect(await text(await client.openFiles(place('1'), signal))).toBe('another');
    expect(await client.hasFiles({ ...place('1'), repository: 'team-b/build.files' }, signal)).toBe(false);
  });

  it.each([MOST_BYTES + 1, 32 * 1_048_576])('are refused with a reason when they have %i bytes', async (bytes) => {
    const refusal = await findRefusal(client.keepFiles(place('2'), Readable.from(cut(bytes)), signal));
    expect(refusal).toMatchObject({ reason: 'too_large', isPassing: false });
    expect(await client.hasFiles(place('2'), signal)).toBe(false);
  });

  it('are not kept when their sender goes away', async () => {
    const over = new AbortController();
    const archive = new Readable({ read: () => undefined });
    archive.push('the first half');
    const kept = client.keepFiles(place('3'), archive, over.signal);
    over.abort();
    await expect(kept).rejects.toThrow();
    expect(await client.hasFiles(place('3'), signal)).toBe(false);
  });

  it.each([MOST_BYTES + 1, 32 * 1_048_576])('of %i bytes are refused with 413 to the API', async (bytes) => {
    const tokenKeys = new TokenKeys({ key: Buffer.alloc(32, 1).toString('base64'), number: 1 });
    const logs: Pick<LogStore, 'read'> = { read: async () => [] };
    await using port = await servePort({ port: 0, logs, plane: client, tokenKeys });
    const response = await fetch(`http://127.0.0.1:${port.port}/files/team-a/${'4'.repeat(64)}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${deriveBuilderToken(tokenKeys)}` },
      body: Readable.toWeb(Readable.from(cut(bytes))) as ReadableStream,
      duplex: 'half',
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ reason: 'too_large' });
  });
});

describe('an image', () => {
  it('is resolved to its digest, with its labels', async () => {
    const { digest, labels } = await client.resolve({ image: base }, signal);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/u);
    expect(labels).toEqual({ maker: 'tenant' });
    const absent = await findRefusal(client.resolve({ image: `${formatHost(images.foreign)}/library/no:1` }, signal));
    expect(absent).toMatchObject({ reason: 'not_found', isPassing: false });
  });

  it('gets a layer, a label and a tag, by which it is found', async () => {
    const repository = 'team-a/build.cache';
    const tar = createReadStream(await images.writeTar('step.txt', 'the step'));
    const layer = await client.pushLayer(repository, tar, signal);
    const labels = { state: '{"user":"app"}' };
    const place = { repository, tag: 'c-1' };
    const made = await client.assemble({ base: { image: base }, ...place, layer, labels, step: 'RUN step' }, signal);
    expect(made.image).toBe(`${images.registry}/${repository}@${made.digest}`);
    expect(made.labels).toEqual(labels);
    const found = await client.findTag(repository, 'c-1', signal);
    expect(found).toMatchObject({ image: made.image, digest: made.digest });
    expect(found?.labels).toEqual({ maker: 'tenant', ...labels });
    expect(await images.readFile(made.image, 'step.txt')).toBe('the step');
    expect(await images.readFile(made.image, 'base.txt')).toBe('the base library/base:1');
    const { config, history } = await images.readConfig(made.image);
    expect(config).toMatchObject({ User: '0:0', WorkingDir: '/' });
    expect(history.at(-1)).toMatchObject({ created_by: 'RUN step' });
    expect(await client.findTag(repository, 'c-2', signal)).toBeUndefined();
  });

  it('goes on from one that a build made', async () => {
    const repository = 'team-a/build.cache';
    const first = await client.assemble({ base: { image: base }, repository, tag: 'c-3' }, signal);
    const layer = await client.pushLayer(
      repository,
      createReadStream(await images.writeTar('later.txt', 'later')),
      signal,
    );
    const trusted = { image: first.image, trusted: true };
    const next = await client.assemble(
      { base: trusted, repository: 'team-a/app', tag: 'one', layer, step: 'RUN later' },
      signal,
    );
    expect(await images.readFile(next.image, 'later.txt')).toBe('later');
    expect(await images.readFile(next.image, 'base.txt')).toBe('the base library/base:1');
  });

  it('of the installation is refused unless it is trusted', async () => {
    const image = await images.push(images.own, 'sandlot/team-b/secret:1', 'maker=installation');
    const refusal = await findRefusal(client.resolve({ image }, signal));
    expect(refusal).toMatchObject({ reason: 'not_allowed', isPassing: false });
    expect(await client.resolve({ image, trusted: true }, signal)).toMatchObject({ labels: { maker: 'installation' } });
    const stolen = client.assemble({ base: { image }, repository: 'team-a/app', tag: 'stolen' }, signal);
    expect(await findRefusal(stolen)).toMatchObject({ reason: 'not_allowed' });
    expect(await client.findTag('team-a/app', 'stolen', signal)).toBeUndefined();
  });

  it('cannot be had while the registry is away, and can be afterwards', async () => {
    await images.own.kill();
    const calls = [
      client.findTag('team-a/app', 'one', signal),
      client.hasFiles(place('1'), signal),
      client.keepFiles(place('5'), Readable.from(['one']), signal),
      client.assemble({ base: { image: base }, repository: 'team-a/app', tag: 'away' }, signal),
    ];
    const refusals = await Promise.all(calls.map(findRefusal));
    await images.own.restart();
    expect(refusals.map(({ isPassing }) => isPassing)).toEqual([true, true, true, true]);
    expect(await client.hasFiles(place('1'), signal)).toBe(true);
  });

  it('cannot be had without a plane', async () => {
    const absent = openClient(join(images.folder, 'absent.sock'));
    await expect(absent.resolve({ image: base }, signal)).rejects.toThrow('ENOENT');
  });
});
