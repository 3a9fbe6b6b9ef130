import { createWriteStream, openAsBlob } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { FileType } from 'e2b';
import type { Sandbox } from 'e2b';
import { CliError } from '../errors.ts';
import { connect, explain } from './client.ts';
import { buildUsageError } from './command.ts';
import type { TenantCommand } from './command.ts';

interface Place {
  /** Undefined: on this machine. */
  readonly id: string | undefined;
  readonly path: string;
}

export const copy: TenantCommand = {
  name: 'cp',
  usage: 'FROM TO, one of which is ID:PATH',
  what: 'copies files and folders into a sandbox, or out of it',
  names: [2, 2],
  run: async (call) => {
    const [from, to] = call.names.map(parsePlace);
    if (from === undefined || to === undefined || (from.id === undefined) === (to.id === undefined))
      throw buildUsageError(copy, 'cp takes one place in a sandbox, ID:PATH, and one on this machine');
    const id = from.id ?? to.id ?? '';
    const sandbox = await connect(call.account, id);
    const count = await explain(
      () => (from.id === undefined ? upload(sandbox, from.path, to.path) : download(sandbox, from.path, to.path)),
      id,
    );
    call.err.write(`copied ${count} ${count === 1 ? 'file' : 'files'}\n`);
    return 0;
  },
};

/** Ids of sandboxes have no separators, so `./a:b` and `/a:b` are paths of this machine. */
export function parsePlace(text: string): Place {
  const [, id, path] = /^([a-z0-9-]+):(.*)$/su.exec(text) ?? [];
  if (id === undefined || path === undefined) return { id: undefined, path: text };
  return { id, path: path === '' ? '.' : path };
}

async function upload(sandbox: Sandbox, from: string, to: string): Promise<number> {
  const found = await stat(from).catch(() => undefined);
  if (found === undefined) throw new CliError(`there is no ${from} on this machine`, 'Check the first argument.');
  const target = to.endsWith('/') || to === '.' ? posix.join(to, basename(from)) : to;
  if (!found.isDirectory()) {
    await sandbox.files.write(target, await openAsBlob(from));
    return 1;
  }
  await sandbox.files.makeDir(target);
  let count = 0;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    // Links would lead out of the folder.
    if (!entry.isDirectory() && !entry.isFile()) continue;
    count += await upload(sandbox, join(from, entry.name), posix.join(target, entry.name));
  }
  return count;
}

async function download(sandbox: Sandbox, from: string, to: string): Promise<number> {
  const info = await sandbox.files.getInfo(from);
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory() === true;
  const target = isFolder ? join(to, takeName(posix.basename(info.path))) : to;
  return info.type === FileType.DIR ? downloadFolder(sandbox, from, target) : downloadFile(sandbox, from, target);
}

async function downloadFolder(sandbox: Sandbox, from: string, to: string): Promise<number> {
  await mkdir(to, { recursive: true });
  let count = 0;
  for (const { name, type, symlinkTarget } of await sandbox.files.list(from)) {
    // Links would lead out of the folder.
    if (symlinkTarget !== undefined) continue;
    const fetch = type === FileType.DIR ? downloadFolder : downloadFile;
    count += await fetch(sandbox, posix.join(from, name), join(to, takeName(name)));
  }
  return count;
}

async function downloadFile(sandbox: Sandbox, from: string, to: string): Promise<number> {
  const stream = await sandbox.files.read(from, { format: 'stream', requestTimeoutMs: 0 });
  await pipeline(Readable.fromWeb(stream as ReadableStream), createWriteStream(to));
  return 1;
}

/** The sandbox says what its files are called, and none may be written elsewhere. */
export function takeName(name: string): string {
  const isPlain = name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/u.test(name);
  if (isPlain) return name;
  throw new CliError(`the sandbox has a file called ${JSON.stringify(name)}`, 'Copy the others one by one.');
}
