import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox, Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../support/builds/cli.ts';
import type { CommandEnd } from '../../support/builds/cli.ts';
import { Templates } from '../../support/builds/templates.ts';
import { LIFETIME_MS, readAccess } from '../../support/sdk/client.ts';
import type { Access } from '../../support/sdk/client.ts';

const DOCKERFILE = `FROM e2bdev/base
ARG WORD=argument
ENV SECOND=$WORD
WORKDIR /srv/app
COPY words.txt copied.txt
RUN echo "$SECOND" > said.txt
`;

const listed = z.array(z.object({ templateID: z.string(), aliases: z.array(z.string()), buildStatus: z.string() }));

const stack = new AsyncDisposableStack();
let templates: Templates;
let folder: string;
let name: string;
let created: CommandEnd;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('cli'));
  folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'sandlot-cli-'))).path;
  await writeFile(join(folder, 'words.txt'), `words of ${process.pid}\n`);
  await writeFile(join(folder, 'e2b.Dockerfile'), DOCKERFILE);
  name = templates.name('made');
  const commands = ['-c', 'python3 -m http.server 8000', '--ready-cmd', 'curl --silent http://127.0.0.1:8000/'];
  created = await runCli(['template', 'create', name, '-d', 'e2b.Dockerfile', '--cpu-count', '1', ...commands], folder);
});
afterAll(() => stack.disposeAsync());

/** The namespace of a key, by which other teams name its templates. */
async function readTeam({ apiKey, apiUrl }: Access): Promise<string> {
  const response = await fetch(`${apiUrl}/teams`, { headers: { 'x-api-key': apiKey } });
  const [team] = z.array(z.object({ teamID: z.string() })).parse(await response.json());
  return team?.teamID ?? '';
}

async function list(): Promise<z.output<typeof listed>> {
  const { code, stdout } = await runCli(['template', 'list', '-f', 'json'], folder);
  expect(code).toBe(0);
  return listed.parse(JSON.parse(stdout));
}

describe('the stock CLI', () => {
  it('creates a template of a Dockerfile, with its start command', async () => {
    expect(created.output).toContain('[builder 1/');
    expect(created.code).toBe(0);
    const sandbox = await templates.open(name);
    const { stdout } = await sandbox.commands.run(
      'cat copied.txt said.txt; curl --silent http://127.0.0.1:8000/said.txt',
    );
    expect(stdout).toBe(`words of ${process.pid}\nargument\nargument\n`);
  });

  it('lists it with its id and its name', async () => {
    const found = (await list()).find(({ aliases }) => aliases.includes(name));
    expect(found).toMatchObject({ buildStatus: 'ready' });
    expect(created.output).toContain(found?.templateID);
  });

  it('publishes it for another team, and takes it back', async () => {
    const stranger = await readAccess('E2B_API_KEY_2');
    const reference = `${await readTeam(templates.access)}/${name}`;
    const open = (): Promise<Sandbox> => Sandbox.create(reference, { ...stranger, timeoutMs: LIFETIME_MS });
    await expect(open()).rejects.toThrow('not found');
    expect(await runCli(['template', 'publish', name, '-y'], folder)).toMatchObject({ code: 0 });
    await expect.poll(() => Template.exists(reference, stranger)).toBe(true);
    const sandbox = await open();
    const { stdout } = await sandbox.commands.run('cat copied.txt');
    await sandbox.kill();
    expect(stdout).toBe(`words of ${process.pid}\n`);
    expect(await runCli(['template', 'unpublish', name, '-y'], folder)).toMatchObject({ code: 0 });
    await expect.poll(() => Template.exists(reference, stranger)).toBe(false);
    await expect(open()).rejects.toThrow('not found');
  });

  it('exits with 1 when a step fails, and says which', async () => {
    await writeFile(join(folder, 'broken.Dockerfile'), 'FROM e2bdev/base\nRUN true\nRUN exit 3\n');
    const { code, output } = await runCli(
      ['template', 'create', templates.name('broken'), '-d', 'broken.Dockerfile'],
      folder,
    );
    expect(code).toBe(1);
    expect(output).toContain("failed to run command 'exit 3': exit status 3");
  });

  it('deletes a template without a question', async () => {
    const gone = templates.name('gone');
    await writeFile(join(folder, 'plain.Dockerfile'), 'FROM e2bdev/base\nRUN true\n');
    expect(await runCli(['template', 'create', gone, '-d', 'plain.Dockerfile'], folder)).toMatchObject({ code: 0 });
    expect(await runCli(['template', 'delete', gone, '-y'], folder)).toMatchObject({ code: 0 });
    expect((await list()).flatMap(({ aliases }) => aliases)).not.toContain(gone);
  });
});
