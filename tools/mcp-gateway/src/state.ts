// What a boot needs to start the gateway again, and where clients find the token.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface State {
  readonly token: string;
  readonly config: string;
}

const TOKEN = '.token';
const CONFIG = 'config.json';

/** Writes both files, each at once, for root alone. */
export async function writeState(folder: string, { token, config }: State): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await replaceFile(join(folder, CONFIG), config);
  await replaceFile(join(folder, TOKEN), token);
}

/** Reads what was written last. Undefined if no gateway ran here. */
export async function findState(folder: string): Promise<State | undefined> {
  try {
    const [token, config] = await Promise.all([TOKEN, CONFIG].map((name) => readFile(join(folder, name), 'utf8')));
    return token === undefined || config === undefined ? undefined : { token, config };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
