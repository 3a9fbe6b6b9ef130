import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtempDisposable, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { eventually } from '../team.ts';
import type { Templates } from './templates.ts';

const run = promisify(execFile);

const requested = z.object({ templateID: z.string(), buildID: z.string() });
const link = z.object({ url: z.string() });
const progress = z.object({
  status: z.string(),
  reason: z.object({ message: z.string(), step: z.string().optional() }).optional(),
});
type End = z.output<typeof progress>;

/** Builds a template with one COPY of an archive that no client makes, and returns how the build ends. */
export async function buildWithArchive(
  templates: Templates,
  name: string,
  { archive, source }: { readonly archive: Buffer; readonly source: string },
): Promise<End> {
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await templates.call(method, path, body);
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.status === 202 && path.startsWith('/v2') ? undefined : answer.json();
  };
  const { templateID, buildID } = requested.parse(await ask('POST', '/v3/templates', { name, cpuCount: 1 }));
  const filesHash = createHash('sha256').update(archive).update(name).digest('hex');
  const { url } = link.parse(await ask('GET', `/templates/${templateID}/files/${filesHash}`));
  const upload = await fetch(url, { method: 'PUT', body: Uint8Array.from(archive) });
  if (!upload.ok) return { status: 'error', reason: { message: `${upload.status}: ${await upload.text()}` } };
  const steps = [{ type: 'COPY', args: [source, '/srv/copied', '', ''], filesHash }];
  await ask('POST', `/v2/templates/${templateID}/builds/${buildID}`, { fromImage: 'e2bdev/base', steps });
  return eventually('the build ends', async () => {
    const now = progress.parse(await ask('GET', `/templates/${templateID}/builds/${buildID}/status`));
    return ['ready', 'error'].includes(now.status) ? now : undefined;
  });
}

/** Archives whose files would land elsewhere, by what the build says of them. */
export async function makeArchives(): Promise<Readonly<Record<string, Buffer>>> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-hostile-'));
  const { path } = folder;
  await mkdir(join(path, 'files/evil'), { recursive: true });
  await writeFile(join(path, 'files/evil/passwd'), 'root::0:0::/:/bin/sh\n');
  await mkdir(join(path, 'links'));
  await symlink('/etc', join(path, 'links/evil'));
  const pack = async (name: string, ...args: readonly string[]): Promise<Buffer> => {
    const file = join(path, `${name}.tar`);
    await run('tar', ['--append', '--file', file, '--absolute-names', '--directory', path, ...args]);
    return readFile(file);
  };
  await pack('behind', '--directory', 'links', 'evil');
  return {
    'which leads out of it': await pack('above', '--directory', 'files', '--transform', 's,^evil,../evil,', 'evil'),
    'the archive has the absolute path': await pack('absolute', join(path, 'files/evil')),
    'behind the link': await pack('behind', '--directory', 'files', 'evil/passwd'),
    'unpacks to more than 64 GiB': buildHeader('evil/zeros', 65 * 2 ** 30),
  };
}

const BLOCK = 512;
/** Places in the header of an entry of a tar: https://www.gnu.org/software/tar/manual/html_node/Standard.html */
const SIZE = 124;
const CHECKSUM = 148;
const TYPE = 156;

/** The beginning of an archive with one file of this size, which is larger than octal digits can say. */
function buildHeader(name: string, sizeBytes: number): Buffer {
  const header = Buffer.alloc(2 * BLOCK);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.writeUInt8(0x80, SIZE);
  header.writeBigUInt64BE(BigInt(sizeBytes), SIZE + 4);
  header.write('0', TYPE);
  header.write('ustar  \0', 257);
  header.fill(' ', CHECKSUM, CHECKSUM + 8);
  const sum = header.subarray(0, BLOCK).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM);
  return header;
}
