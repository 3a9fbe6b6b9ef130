import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildWithArchive, makeArchives } from '../../support/builds/hostile-archives.ts';
import { Templates } from '../../support/builds/templates.ts';

const stack = new AsyncDisposableStack();
let templates: Templates;
let archives: Readonly<Record<string, Buffer>>;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('hostile'));
  archives = await makeArchives();
});
afterAll(() => stack.disposeAsync());

describe('an archive that no client makes', () => {
  it.each([
    'which leads out of it',
    'the archive has the absolute path',
    'behind the link',
    'unpacks to more than 64 GiB',
  ])('fails the build at its step: %s', async (words) => {
    const archive = archives[words] ?? Buffer.alloc(0);
    const name = templates.name(words.replaceAll(/\W+/g, '-').toLowerCase());
    const { status, reason } = await buildWithArchive(templates, name, { archive, source: 'evil' });
    expect([status, reason?.step]).toEqual(['error', '1']);
    expect(reason?.message).toContain(words);
  });
});
