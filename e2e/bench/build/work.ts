import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from 'e2b';
import type { TemplateClass } from 'e2b';

/** What is built: five steps on the image of the template `base`. */
export interface Work {
  /** The folder with the files of the first step. */
  readonly folder: string;
  /** Decides over the result of the last step. */
  readonly variant: string;
}

const FILES = 500;
const FILE_BYTES = 4 << 10;
const BIG_BYTES = 8 << 20;
const COMPILE = 'python3 -m compileall -q /srv/app';

const last = (variant: string): string => `sha256sum big.bin > sum && echo ${variant} > variant`;

/** Fills the folder with what no build has seen before, so that nothing comes from a cache. */
export async function fillFolder(folder: string, unique: string): Promise<void> {
  const app = join(folder, 'app');
  await mkdir(app, { recursive: true });
  for (let number = 0; number < FILES; number += 1) {
    const line = `VALUE_${number} = "${unique}"\n`;
    await writeFile(join(app, `module_${number}.py`), line.repeat(Math.ceil(FILE_BYTES / line.length)));
  }
  await writeFile(join(app, 'big.bin'), Buffer.alloc(BIG_BYTES, unique));
}

/** The steps for the stock client. */
export function buildTemplate({ folder, variant }: Work): TemplateClass {
  return Template({ fileContextPath: folder })
    .fromBaseImage()
    .copy('app', '/srv/app')
    .runCmd(COMPILE, { user: 'root' })
    .setEnvs({ GREETING: 'hello' })
    .setWorkdir('/srv/app')
    .runCmd(last(variant), { user: 'root' });
}

/** The same steps by hand. */
export function formatDockerfile(base: string, variant: string): string {
  return `FROM ${base}
COPY app /srv/app
RUN ${COMPILE}
ENV GREETING=hello
WORKDIR /srv/app
RUN ${last(variant)}
`;
}
