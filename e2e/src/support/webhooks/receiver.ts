import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { runKubectlOrFail } from '../kubectl.ts';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver of webhooks at the address and the port that the local cluster allows beside public ones. One at a time. */
export class WebhookReceiver implements AsyncDisposable {
  readonly got: Received[] = [];
  readonly url: string;
  readonly #held: ServerResponse[] = [];
  readonly #server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      this.got.push({ headers: request.headers, body });
      if (this.#isHolding) this.#held.push(response);
      else response.end();
    });
  });
  #isHolding = false;

  private constructor(address: string, port: number) {
    this.url = `http://${address}:${port}/hook`;
  }

  static async start(): Promise<WebhookReceiver> {
    const read = (name: string): Promise<string> =>
      runKubectlOrFail([
        ...['--namespace', 'sandlot-system', 'get', 'deployment', 'sandlot-webhooks', '--output'],
        `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="${name}")].value}`,
      ]);
    const [address = ''] = (await read('WEBHOOK_PRIVATE_ADDRESSES')).split('/');
    const port = Number((await read('WEBHOOK_PORTS')).split(',').at(-1));
    const receiver = new WebhookReceiver(address, port);
    receiver.#server.listen(port);
    await once(receiver.#server, 'listening');
    return receiver;
  }

  /** Keeps answers back until the result is disposed. */
  hold(): Disposable {
    this.#isHolding = true;
    return {
      [Symbol.dispose]: () => {
        this.#isHolding = false;
        for (const response of this.#held.splice(0)) response.end();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
