import { text } from 'node:stream/consumers';
import type { Sandbox } from 'e2b';
import { eventually } from '../team.ts';
import { ask } from './http.ts';

const PORT = 8_000;
export const OPEN_FILE = '/tmp/open.log';

/**
 * Counts in memory, keeps one file open from its start, and answers on its port with what only this process can know: a
 * secret of its start, its count and its pid.
 */
const PROGRAM = `
import http.server, json, os, secrets, threading, time
count, secret = 0, secrets.token_hex(16)
log = open('${OPEN_FILE}', 'w', buffering=1)
ballast = bytearray(os.urandom(1024)) * (16 * 1024)
def run():
    global count
    while True:
        count += 1
        log.write(f'{count}\\n')
        time.sleep(0.02)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({'secret': secret, 'count': count, 'pid': os.getpid(), 'bytes': len(ballast)}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
threading.Thread(target=run, daemon=True).start()
http.server.ThreadingHTTPServer(('0.0.0.0', ${PORT}), Handler).serve_forever()
`;

export interface Testimony {
  readonly secret: string;
  readonly count: number;
  readonly pid: number;
  readonly bytes: number;
}

/** Starts the program in a sandbox as a background command, and returns its first answer. */
export async function startWitness(sandbox: Sandbox): Promise<Testimony> {
  await sandbox.files.write('/tmp/witness.py', PROGRAM);
  const running = await sandbox.commands.run('exec python3 /tmp/witness.py', { background: true, timeoutMs: 0 });
  await running.disconnect();
  return eventually('the program answers', () => hear(sandbox).catch(() => undefined));
}

/** Asks the program through the gateway, as any client on the Internet does. */
export async function hear(sandbox: Sandbox): Promise<Testimony> {
  const answer = await ask(sandbox.getHost(PORT));
  const body = await text(answer);
  if (answer.statusCode !== 200) throw new Error(`the gateway answers ${answer.statusCode}: ${body}`);
  return JSON.parse(body) as Testimony;
}
