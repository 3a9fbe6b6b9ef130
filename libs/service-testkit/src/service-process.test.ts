import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { NODE_FLAGS } from './service-process.ts';

it('runs a service with the same Node flags as its image', async () => {
  const dockerfile = await readFile(new URL('../../../images/controller/Dockerfile', import.meta.url), 'utf8');
  const [, entrypoint = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entrypoint)).toEqual(['/usr/local/bin/node', ...NODE_FLAGS, '/app/main.js']);
});
