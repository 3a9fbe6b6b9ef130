import { sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { eventually } from '../support/team.ts';

const NAMESPACE = 'tenant-a';
const POOL = 'code-interpreter-v1';
const NAME = `e2e-code-${process.pid}`;

const line = z.looseObject({ type: z.string(), text: z.string().optional(), name: z.string().optional() });
type Line = z.output<typeof line>;
const context = z.object({ id: z.string(), language: z.string(), cwd: z.string() });

let client: KubeClient;
let url: string;

/** All tests share one sandbox of the pool that `npm run up` keeps warm. */
beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  const spec = { warmPoolRef: { name: POOL } };
  await client.create(sandboxClaims, { metadata: { namespace: NAMESPACE, name: NAME }, spec });
  const address = await eventually('the claim is served', async () => {
    const { status } = await client.get(sandboxClaims, { namespace: NAMESPACE, name: NAME });
    return (status?.readyReplicas ?? 0) > 0 ? status?.sandbox?.podIPs?.[0] : undefined;
  });
  url = `http://${address}:49999`;
}, 180_000);

afterAll(async () => {
  await client.delete(sandboxClaims, { namespace: NAMESPACE, name: NAME });
  await client.close();
});

function post(path: string, body: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Runs code and returns the lines of the response in order. Every line is JSON. */
async function run(code: string, more: object = {}): Promise<Line[]> {
  const answer = await post('/execute', { code, ...more });
  const text = await answer.text();
  return text
    .trimEnd()
    .split('\n')
    .map((json) => line.parse(JSON.parse(json)));
}

const typed = (lines: readonly Line[], type: string): Line[] => lines.filter((one) => one.type === type);
const printedBy = (lines: readonly Line[]): string =>
  typed(lines, 'stdout')
    .map(({ text = '' }) => text)
    .join('');

describe('an execution', () => {
  it('streams number, output, result and end as they happen', async () => {
    const lines = await run('import sys\nprint("out")\nprint("err", file=sys.stderr)\n"text"');
    expect(lines[0]?.type).toBe('number_of_executions');
    expect(printedBy(lines)).toBe('out\n');
    expect(typed(lines, 'stderr')[0]?.text).toBe('err\n');
    expect(typed(lines, 'result')[0]).toMatchObject({ text: 'text', is_main_result: true });
    expect(lines.at(-1)?.type).toBe('end_of_execution');
  });

  it('keeps its state for the next one, and runs as the user of the sandbox in its home', async () => {
    await run('import os\nx = 41');
    expect(printedBy(await run('print(x + 1, os.getcwd(), os.getuid())'))).toBe('42 /home/user 1000\n');
  });

  it('has variables of its own, which the next one does not see', async () => {
    const code = 'import os\nprint(os.environ.get("OWN"))';
    expect(printedBy(await run(code, { env_vars: { OWN: 'yes' } }))).toBe('yes\n');
    expect(printedBy(await run(code))).toBe('None\n');
  });

  it('reports an exception', async () => {
    expect(typed(await run('1/0'), 'error')[0]).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
  });

  it('returns a plot as a PNG', async () => {
    const lines = await run('import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()');
    expect(typed(lines, 'result').map((result) => String(result['png']).slice(0, 8))).toEqual(['iVBORw0K']);
  });

  it('keeps the connection alive while it prints nothing', async () => {
    expect(typed(await run('import time\ntime.sleep(6)'), 'keepalive')).toHaveLength(1);
  });

  it('is interrupted when its client leaves, and the next one runs', async () => {
    const gone = new AbortController();
    const answer = await post(
      '/execute',
      { code: 'import time\nprint("on", flush=True)\ntime.sleep(600)' },
      gone.signal,
    );
    await answer.body?.getReader().read();
    gone.abort();
    expect(printedBy(await run('print("next")'))).toBe('next\n');
  });

  it('reports that it killed its kernel, and the next one has a new kernel', async () => {
    const lines = await run('import os, signal\nos.kill(os.getpid(), signal.SIGKILL)');
    expect(typed(lines, 'unexpected_end_of_execution')).toHaveLength(1);
    expect(printedBy(await run('print("again")'))).toBe('again\n');
  });
});

describe('a context', () => {
  it('has its own state, is listed, restarted and deleted', async () => {
    const { id, language, cwd } = context.parse(await (await post('/contexts', { cwd: '/tmp' })).json());
    expect([language, cwd]).toEqual(['python', '/tmp']);
    await run('apart = 1', { context_id: id });
    expect(typed(await run('apart'), 'error')).toHaveLength(1);
    expect((await post(`/contexts/${id}/restart`)).status).toBe(200);
    expect(typed(await run('apart', { context_id: id }), 'error')).toHaveLength(1);
    const listed = z.array(context).parse(await (await fetch(`${url}/contexts`)).json());
    expect(listed.map((one) => one.id)).toContain(id);
    expect((await fetch(`${url}/contexts/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await post('/execute', { code: '1', context_id: id })).status).toBe(404);
  });

  it('is refused by name in a language that the image lacks', async () => {
    const answers = [
      await post('/execute', { code: '1', language: ' R ' }),
      await post('/contexts', { language: 'r' }),
    ];
    const message = "Failed to create context: kernel for 'r' is not in this image";
    for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([500, message]);
  });

  it.each([
    ['both a context and a language', { code: '1', context_id: 'x', language: 'python' }, 400],
    ['a language that the image lacks', { code: '1', language: 'r' }, 500],
    ['a language that is no text', { code: '1', language: 5 }, 400],
    ['a variable that no process can have', { code: '1', env_vars: { 'a=b': '1' } }, 400],
    ['a variable that no shell can have', { code: '1', language: 'bash', env_vars: { 'a-b': '1' } }, 400],
    ['no code', {}, 400],
  ])('refuses a request with %s', async (_, body, status) => {
    const answer = await post('/execute', body);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toContain('text/plain');
  });
});
