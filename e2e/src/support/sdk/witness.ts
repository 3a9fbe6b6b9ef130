import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Sandbox } from 'e2b';
import { eventually } from '../team.ts';
import { ask } from './http.ts';

const PORT = 8_000;
export const OPEN_FILE = '/tmp/open.log';

/** The program, which tests in Python start as well. */
const PROGRAM = readFileSync(join(import.meta.dirname, '../../sdk/python/witness.py'), 'utf8');

export interface Testimony {
  readonly secret: string;
  readonly count: number;
  readonly pid: number;
  readonly bytes: number;
}

/** Starts the program in a sandbox as a background command, and returns its first answer. */
export async function startWitness(sandbox: Sandbox): Promise<Testimony> {
  await sandbox.files.write('/tmp/witness.py', PROGRAM);
  const running = await sandbox.commands.run('exec python3 /tmp/witness.py', { background: true, timeoutMs: 0 });
  await running.disconnect();
  return eventually('the program answers', () => hear(sandbox).catch(() => undefined));
}

/** Asks the program through the gateway, as any client on the Internet does. */
export async function hear(sandbox: Sandbox): Promise<Testimony> {
  const answer = await ask(sandbox.getHost(PORT));
  const body = await text(answer);
  if (answer.statusCode !== 200) throw new Error(`the gateway answers ${answer.statusCode}: ${body}`);
  return JSON.parse(body) as Testimony;
}
