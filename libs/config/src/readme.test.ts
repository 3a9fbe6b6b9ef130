import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { z } from 'zod';
import * as config from './index.ts';

it('runs the example of the README', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const code = example.replaceAll(/^import .*$/gm, '');
  const process = { env: { NATS_PASSWORD: 'hunter2', RESYNC_INTERVAL: '15s' } };
  const loaded: unknown = runInNewContext(`${code}\nJSON.stringify(config)`, { ...config, z, process });
  expect(JSON.parse(String(loaded))).toEqual({ PROBE_PORT: 8081, NATS_PASSWORD: '[secret]', RESYNC_INTERVAL: 15_000 });
});
