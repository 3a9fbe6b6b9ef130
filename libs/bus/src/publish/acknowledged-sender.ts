import { createInbox } from '@nats-io/nats-core';
import type { Msg, MsgHdrs, NatsConnection, Subscription } from '@nats-io/nats-core';
import type { Clock, Timer } from '@sandlot/std';

/** The stream did not confirm the message. With code `NoAnswer` it may have it nevertheless. */
export class NotAcknowledgedError extends Error {
  override readonly name = 'NotAcknowledgedError';
  readonly code: 'NoAnswer' | 'NoStream' | 'Refused' | 'Closed';

  constructor(code: NotAcknowledgedError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

interface Waiting {
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (reason: NotAcknowledgedError) => void;
}

export interface OutgoingMessage {
  readonly subject: string;
  readonly body: string;
  readonly head?: MsgHdrs | undefined;
}

export interface SenderOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Acknowledgements arrive below it. */
  readonly inboxPrefix: string;
}

/**
 * Publishes to streams over one connection and awaits their acknowledgements. A request of the client costs a timer and two
 * stack traces per message, which is most of its cost; here all messages share an inbox and a timer.
 */
export class AcknowledgedSender {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #inbox: string;
  readonly #answers: Subscription;
  /** By the last token of the reply subject, oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  #sent = 0;
  #sweep: Timer | undefined;

  constructor(connection: NatsConnection, { clock, timeoutMs, inboxPrefix }: SenderOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#inbox = createInbox(inboxPrefix);
    this.#answers = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#onAnswer(message);
      },
    });
  }

  /**
   * Resolves when the stream has the message. Rejects with {@link NotAcknowledgedError} after at most twice the time limit,
   * or with the client's error for a message that cannot be sent.
   */
  send({ subject, body, head }: OutgoingMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const token = (this.#sent += 1).toString(36);
    const reply = `${this.#inbox}.${token}`;
    try {
      this.#connection.publish(subject, body, head === undefined ? { reply } : { reply, headers: head });
    } catch (error) {
      reject(error);
      return promise;
    }
    this.#waiting.set(token, { sinceMs: this.#clock.monotonic(), resolve: () => resolve(undefined), reject });
    this.#sweep ??= this.#clock.setTimeout(() => this.#expire(), this.#timeoutMs);
    return promise;
  }

  /** Rejects the messages that still wait. */
  close(): void {
    this.#sweep?.cancel();
    this.#sweep = undefined;
    if (!this.#connection.isClosed()) this.#answers.unsubscribe();
    for (const { reject } of this.#waiting.values())
      reject(new NotAcknowledgedError('Closed', 'the connection is closed'));
    this.#waiting.clear();
  }

  #onAnswer(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length + 1);
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) return;
    this.#waiting.delete(token);
    const refusal = findRefusal(message);
    if (refusal === undefined) waiting.resolve();
    else waiting.reject(refusal);
  }

  #expire(): void {
    const nowMs = this.#clock.monotonic();
    this.#sweep = undefined;
    for (const [token, { sinceMs, reject }] of this.#waiting) {
      if (nowMs - sinceMs < this.#timeoutMs) {
        this.#sweep = this.#clock.setTimeout(() => this.#expire(), this.#timeoutMs);
        return;
      }
      this.#waiting.delete(token);
      reject(new NotAcknowledgedError('NoAnswer', `no acknowledgement within ${this.#timeoutMs} ms`));
    }
  }
}

interface Acknowledgement {
  readonly stream?: string;
  readonly error?: { readonly description?: string };
}

/** Why the answer is a refusal; undefined for an acknowledgement. The server itself answers 503 when no stream listens. */
function findRefusal(message: Msg): NotAcknowledgedError | undefined {
  if (message.data.length === 0 && message.headers?.code === 503) {
    return new NotAcknowledgedError('NoStream', 'no stream listens on the subject');
  }
  try {
    const { stream, error } = JSON.parse(message.string()) as Acknowledgement;
    if (stream !== undefined && error === undefined) return undefined;
    return new NotAcknowledgedError('Refused', `the stream refused: ${error?.description ?? 'no reason given'}`);
  } catch {
    return new NotAcknowledgedError('Refused', 'the answer did not come from a stream');
  }
}
