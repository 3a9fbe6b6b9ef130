import { ask } from '../sdk/http.ts';
import type { Life } from './lives.ts';
import type { Load } from './load.ts';

const DAEMON_PORT = 49_983;

/** The tokens with which the clients of the lives reach the daemons. */
export const readTokens = ({ lives }: Load): readonly string[] =>
  lives.map(({ sandbox }) => String(Reflect.get(sandbox, 'envdAccessToken')));

/** The status with which the daemon of a life answers a token. */
async function askDaemon({ sandbox }: Life, token: string): Promise<number> {
  const host = sandbox.getHost(DAEMON_PORT);
  const answer = await ask(host, { path: '/envs', headers: { 'x-access-token': token } });
  answer.resume();
  return answer.statusCode ?? 0;
}

/** For each life the status for its token, and for a wrong one. */
export async function tryTokens({ lives }: Load, tokens: readonly string[]): Promise<readonly (readonly number[])[]> {
  return Promise.all(
    lives.map((life, index) => Promise.all(['', 'x'].map((end) => askDaemon(life, `${tokens[index] ?? ''}${end}`)))),
  );
}
