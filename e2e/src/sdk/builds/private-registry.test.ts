import { createServer } from 'node:https';
import { request as ask } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Templates } from '../../support/builds/templates.ts';
import { addNames } from '../../support/egress/hosts.ts';
import { listen, openPlace } from '../../support/egress/place.ts';
import { findRegistry, findSandboxBase } from '../../support/images/publish.ts';
import { runKubectlOrFail } from '../../support/kubectl.ts';

const OUTSIDE = '192.175.48.91';
const HOST = 'registry.private-builds.example';
const USER = 'ana';
const PASSWORD = `pass-${process.pid}-word`;

const stack = new AsyncDisposableStack();
let templates: Templates;
let image: string;

beforeAll(async () => {
  templates = stack.use(await Templates.begin('private'));
  const { cert, key } = stack.use(await openPlace(OUTSIDE, [HOST]));
  stack.use(await listen(createServer({ cert, key }, passOn(await findRegistry())), 443, OUTSIDE));
  stack.use(await addNames([`${OUTSIDE} ${HOST}`]));
  image = (await findSandboxBase()).replace(/^[^/]+/, HOST);
});
afterAll(() => stack.disposeAsync());

/** The registry of the cluster, behind a password: a registry of somebody else for the installation. */
function passOn(local: string) {
  const expected = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (request.headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="private"' }).end();
      return;
    }
    const { method, url, headers } = request;
    const onward = ask(
      new URL(url ?? '/', `http://${local}`),
      { method, headers: { accept: headers.accept ?? '*/*' } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    onward.end();
  };
}

const build = (password: string | undefined, name: string) => {
  const credentials = password === undefined ? undefined : { username: USER, password };
  return templates.build(Template().fromImage(image, credentials).runCmd('echo built > /home/user/word'), name);
};

describe('an image of a private registry', () => {
  it('is the base of a template with the credentials of the caller, which no object has afterwards', async () => {
    const name = templates.name('open');
    await build(PASSWORD, name);
    const sandbox = await templates.open(name);
    expect(await sandbox.files.read('/home/user/word')).toBe('built\n');
    await expect
      .poll(() => runKubectlOrFail(['get', 'secrets', '--namespace', 'sandlot-system-envs', '--output', 'name']), {
        timeout: 30_000,
      })
      .not.toContain('secret/build-');
    const objects = ['sandboxtemplatebuilds.sandlot.dev,sandboxtemplates.v1beta1.extensions.agents.x-k8s.io,secrets'];
    expect(await runKubectlOrFail(['get', ...objects, '--namespace', 'tenant-a', '--output', 'yaml'])).not.toContain(
      PASSWORD,
    );
  });

  it.each([
    ['wrong credentials', 'wrong'],
    ['none', undefined],
  ])('is refused with %s, in the words of the contract', async (_, password) => {
    await expect(build(password, templates.name('closed'))).rejects.toThrow(
      `access denied to '${image}': authentication required or insufficient permissions`,
    );
  });
});
