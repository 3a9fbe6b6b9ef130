import { spawn } from 'node:child_process';
import { mkdir, open, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { machinePaths } from '@sandlot/local-cluster';
import { eventually } from '../team.ts';

/** Of an added node, as its programs see them. Its other configuration belongs to the local cluster, which writes it again. */
export const CONFIG = `${machinePaths.run}/etc/config.toml`;

/** Where the machine has what the programs of an added node find below `/run/sandlot`. */
export const findInRun = (nodeName: string, path: string): string =>
  join(machinePaths.addedRun, nodeName, 'run', path.slice(machinePaths.run.length));

/** Restarts containerd of an added node with a configuration of its own, as a node of a user has it. Returns its text. */
export async function giveOwnConfig(nodeName: string): Promise<string> {
  const text = await readFile(findInRun(nodeName, `${machinePaths.run}/containerd.toml`), 'utf8');
  const file = findInRun(nodeName, CONFIG);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, text);
  await restartContainerd(nodeName);
  return text;
}

interface Program {
  readonly pid: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Restarts containerd of an added node, so that it reads {@link CONFIG} anew. Its Pods go on. */
export async function restartContainerd(nodeName: string): Promise<void> {
  const { pid, argv, env } = await findContainerd(nodeName);
  await using place = await open(`/proc/${pid}/ns/mnt`);
  process.kill(pid, 'SIGTERM');
  await eventually('containerd has ended', async () =>
    (await readProgram(String(pid))) === undefined ? true : undefined,
  );
  const enter = [`--mount=/proc/${process.pid}/fd/${place.fd}`, '--'];
  const started = spawn('nsenter', [...enter, argv[0] ?? '', '--config', CONFIG], {
    env,
    cwd: '/',
    detached: true,
    stdio: 'ignore',
  });
  started.unref();
  await eventually('containerd runs', () => findContainerd(nodeName));
}

async function findContainerd(nodeName: string): Promise<Program> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const program = await readProgram(pid);
    const isContainerd = basename(program?.argv[0] ?? '') === 'containerd';
    if (program !== undefined && isContainerd && program.env['SANDLOT_LOCAL_NODE'] === nodeName) return program;
  }
  throw new Error(`no containerd of ${nodeName}`);
}

/** Undefined when the process has ended. */
async function readProgram(pid: string): Promise<Program | undefined> {
  const read = async (file: string): Promise<string[]> => (await readFile(`/proc/${pid}/${file}`, 'utf8')).split('\0');
  try {
    const [argv, variables] = [await read('cmdline'), await read('environ')];
    const pairs = variables.filter((text) => text.includes('=')).map((text) => text.split(/=(.*)/s).slice(0, 2));
    return argv[0] === '' ? undefined : { pid: Number(pid), argv, env: Object.fromEntries(pairs) as Program['env'] };
  } catch {
    return undefined;
  }
}
