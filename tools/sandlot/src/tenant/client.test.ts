import { AuthenticationError, SandboxError, SandboxNotFoundError } from 'e2b';
import { expect, it } from 'vitest';
import { explain, unwrap } from './client.ts';

it.each<readonly [string, Error]>([
  ['bad?[2J', new SandboxError('bad\u001B[2J')],
  ['the API refuses the key: no?', new AuthenticationError('no\u0007')],
  ['there is no sandbox id', new SandboxNotFoundError('x')],
  ['the API cannot be reached', new TypeError('fetch failed')],
])('an error of the SDK is explained, and steers no terminal: %s', async (message, error) => {
  await expect(explain(() => Promise.reject(error), 'id')).rejects.toThrow(message);
});

it('an answer that is an error says its status and its message', () => {
  const response = new Response(null, { status: 409 });
  expect(() => unwrap({ error: { message: 'used\n' }, response })).toThrow('the API answered 409: used?');
});
