import { buffer } from 'node:stream/consumers';
import { FileNotFoundError, FileType, FilesystemEventType, InvalidArgumentError } from 'e2b';
import type { FilesystemEvent, Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/team.ts';
import { openSandbox } from '../support/sdk/client.ts';

let sandbox: Sandbox & AsyncDisposable;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const BYTES = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256);

const createStream = (bytes: Uint8Array): ReadableStream =>
  new ReadableStream({
    start: (controller) => {
      for (let at = 0; at < bytes.length; at += 50_000) controller.enqueue(bytes.slice(at, at + 50_000));
      controller.close();
    },
  });

describe('files.read and files.write', () => {
  it.each<[string, () => string | ArrayBuffer | Blob | ReadableStream, object]>([
    ['a buffer', () => BYTES.slice().buffer, {}],
    ['a blob', () => new Blob([BYTES]), {}],
    ['a stream', () => createStream(BYTES), {}],
    ['a buffer, compressed', () => BYTES.slice().buffer, { gzip: true }],
    ['a buffer as one body', () => BYTES.slice().buffer, { useOctetStream: true }],
  ])('write %s and read the same bytes in every format', async (what, data, options) => {
    const path = `/home/user/formats/${what.replaceAll(/\W+/g, '-')}`;
    const written = await sandbox.files.write(path, data(), options);
    expect(written).toMatchObject({ path, type: FileType.FILE });
    const bytes = await sandbox.files.read(path, { format: 'bytes' });
    expect(Buffer.from(bytes).equals(BYTES)).toBe(true);
    const blob = await sandbox.files.read(path, { format: 'blob' });
    expect(Buffer.from(await blob.arrayBuffer()).equals(BYTES)).toBe(true);
    const stream = await sandbox.files.read(path, { format: 'stream' });
    expect((await buffer(stream)).equals(BYTES)).toBe(true);
    const zipped = await sandbox.files.read(path, { format: 'bytes', gzip: true });
    expect(Buffer.from(zipped).equals(BYTES)).toBe(true);
  });

  it('keep text, even an empty one', async () => {
    await sandbox.files.write('text.txt', 'zażółć gęślą\n');
    expect(await sandbox.files.read('/home/user/text.txt')).toBe('zażółć gęślą\n');
    await sandbox.files.write('text.txt', '');
    expect(await sandbox.files.read('text.txt')).toBe('');
    expect(await sandbox.files.read('text.txt', { format: 'bytes' })).toHaveLength(0);
  });

  it('write many files at once, with new folders', async () => {
    const written = await sandbox.files.write([
      { path: '/home/user/many/deep/one.txt', data: '1' },
      { path: '/home/user/many/two "2".txt', data: new Blob(['2']) },
    ]);
    expect(written.map(({ path }) => path)).toEqual(['/home/user/many/deep/one.txt', '/home/user/many/two "2".txt']);
    expect(await sandbox.files.read('/home/user/many/two "2".txt')).toBe('2');
    await sandbox.files.writeFiles([{ path: 'many/three.txt', data: '3' }]);
    expect(await sandbox.files.read('many/three.txt')).toBe('3');
  });

  it('act as the given user', async () => {
    await sandbox.files.write('/root/secret.txt', 's', { user: 'root' });
    expect((await sandbox.files.getInfo('/root/secret.txt', { user: 'root' })).owner).toBe('root');
    await sandbox.files.write('mine.txt', 'm');
    expect((await sandbox.files.getInfo('mine.txt')).owner).toBe('user');
  });

  it('keep the metadata of a file until it is written again', async () => {
    await sandbox.files.write('about.txt', '1', { metadata: { author: 'ana' } });
    expect((await sandbox.files.getInfo('about.txt')).metadata).toEqual({ author: 'ana' });
    await sandbox.files.write('about.txt', '2');
    expect((await sandbox.files.getInfo('about.txt')).metadata ?? {}).toEqual({});
  });

  it('throw typed errors', async () => {
    await expect(sandbox.files.read('nonesuch')).rejects.toThrow(FileNotFoundError);
    await expect(sandbox.files.read('/home/user')).rejects.toThrow(InvalidArgumentError);
  });
});

describe('the file tree', () => {
  it('can be created, listed, read, renamed and removed', async () => {
    const { files } = sandbox;
    expect(await files.makeDir('/home/user/tree/sub')).toBe(true);
    expect(await files.makeDir('/home/user/tree/sub')).toBe(false);
    await files.write('/home/user/tree/a.txt', 'abc');
    await files.write('/home/user/tree/sub/b.txt', 'b');
    await sandbox.commands.run('ln -s a.txt tree/link && chmod 640 tree/a.txt');
    const listed = await files.list('/home/user/tree');
    expect(listed.map(({ name }) => name)).toEqual(['a.txt', 'link', 'sub']);
    expect(listed[0]).toMatchObject({
      type: FileType.FILE,
      path: '/home/user/tree/a.txt',
      size: 3,
      mode: 0o640,
      permissions: '-rw-r-----',
      owner: 'user',
      group: 'user',
    });
    expect(listed[1]?.symlinkTarget).toBe('/home/user/tree/a.txt');
    expect(listed[2]?.type).toBe(FileType.DIR);
    const deep = await files.list('tree', { depth: 2 });
    expect(deep.map(({ path }) => path)).toContain('/home/user/tree/sub/b.txt');
    expect(await files.getInfo('tree/a.txt')).toMatchObject({ name: 'a.txt', size: 3 });
    expect(await files.rename('tree/a.txt', 'tree/moved/c.txt')).toMatchObject({ path: '/home/user/tree/moved/c.txt' });
    expect(await files.exists('tree/a.txt')).toBe(false);
    expect(await files.exists('tree/moved/c.txt')).toBe(true);
    await files.remove('tree');
    expect(await files.exists('tree')).toBe(false);
    await files.remove('tree');
    await expect(files.getInfo('tree')).rejects.toThrow(FileNotFoundError);
    await expect(files.list('tree')).rejects.toThrow(FileNotFoundError);
    await expect(files.rename('tree', 'wood')).rejects.toThrow(FileNotFoundError);
  });
});

describe('files.watchDir', () => {
  it('reports changes of a folder in their order', async () => {
    await sandbox.files.makeDir('watched');
    const events: FilesystemEvent[] = [];
    const watch = await sandbox.files.watchDir('watched', (event) => void events.push(event));
    await sandbox.commands.run('echo 1 > a && chmod 600 a && mv a b && rm b', { cwd: '/home/user/watched' });
    const reported = await eventually('the removal is reported', async () =>
      events.some(({ name, type }) => name === 'b' && type === FilesystemEventType.REMOVE) ? events : undefined,
    );
    expect(reported.map(({ name, type }) => `${type} ${name}`)).toEqual([
      'create a',
      'write a',
      'chmod a',
      'rename a',
      'create b',
      'remove b',
    ]);
    await watch.stop();
  });

  it('covers new subfolders and includes the entry on request', async () => {
    await sandbox.files.makeDir('deep');
    const events: FilesystemEvent[] = [];
    const watch = await sandbox.files.watchDir('deep', (event) => void events.push(event), {
      recursive: true,
      includeEntry: true,
    });
    await sandbox.files.makeDir('deep/x/y');
    const written = await eventually('a write below is reported', async () => {
      await sandbox.files.write('deep/x/y/f.txt', 'full');
      return events.find(({ name, type }) => name === 'x/y/f.txt' && type === FilesystemEventType.WRITE);
    });
    expect(written.entry).toMatchObject({ name: 'f.txt', path: '/home/user/deep/x/y/f.txt' });
    await watch.stop();
  });

  it('reports nothing after stop', async () => {
    await sandbox.files.makeDir('stopped');
    const [stopped, other] = [[] as string[], [] as string[]];
    const ended = Promise.withResolvers<undefined>();
    const watch = await sandbox.files.watchDir('stopped', ({ name }) => void stopped.push(name), {
      onExit: () => {
        ended.resolve(undefined);
      },
    });
    const control = await sandbox.files.watchDir('stopped', ({ name }) => void other.push(name));
    await watch.stop();
    await ended.promise;
    await sandbox.files.write('stopped/late.txt', 'late');
    await eventually('the other watch reports the file', async () => (other.includes('late.txt') ? true : undefined));
    expect(stopped).toEqual([]);
    await control.stop();
  });

  it('works with allowNetworkMounts', async () => {
    await sandbox.files.makeDir('mounted');
    const names: string[] = [];
    const options = { allowNetworkMounts: true };
    const watch = await sandbox.files.watchDir('mounted', ({ name }) => void names.push(name), options);
    await sandbox.files.write('mounted/a.txt', 'a');
    await eventually('the write is reported', async () => (names.includes('a.txt') ? true : undefined));
    await watch.stop();
  });

  it('refuses a missing folder', async () => {
    await expect(sandbox.files.watchDir('nonesuch', () => undefined)).rejects.toThrow(FileNotFoundError);
  });
});
