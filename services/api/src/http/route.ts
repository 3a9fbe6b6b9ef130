import type { Readable } from 'node:stream';
import type { ApiKey } from '@sandlot/tenancy';
import type { z } from 'zod';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** What a handler answers. */
export interface Answer {
  readonly status: number;
  /** JSON; absent: no body at all. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent unchanged, instead of a JSON body. */
  readonly text?: { readonly type: string; readonly content: string } | undefined;
  /** Sent as it arrives, until it ends or the client disconnects. */
  readonly stream?: { readonly type: string; readonly content: Readable } | undefined;
}

/** Collects what the audit log says about a request. */
export interface Trail {
  /** Names the object that the request is about; a handler calls it as soon as it knows more. */
  about(object: { readonly namespace?: string; readonly name: string; readonly uid?: string }): void;
}

/** The types of an operation's parsed input. */
export interface Input {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
}

/** A body that nothing has read yet. */
export interface BodyStream {
  readonly stream: Readable;
  /** As the client declares it; undefined: the body says where it ends. */
  readonly length: number | undefined;
}

/** A parsed request. */
export interface Call<I extends Input = Input> {
  readonly params: I['params'];
  readonly query: I['query'];
  readonly body: I['body'];
  /**
   * Parses the headers by the operation's schema. Throws an ApiError 400. Handlers call it themselves, because a create
   * counts against the rate of its key before its headers are checked.
   */
  readonly readHeaders: () => I['headers'];
  readonly requestId: string;
  /** Scheme and host by which the client called, such as `https://api.example.com`. */
  readonly origin: string;
  /** The body as it arrives, for an operation that `streams`; any other has read it by then. */
  readonly content: BodyStream;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  readonly trail: Trail;
}

export interface TenantCall<I extends Input = Input> extends Call<I> {
  readonly key: ApiKey;
}

export interface AnswerSpec {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType | undefined;
  /** Default `application/json`. */
  readonly type?: string | undefined;
  readonly headers?: z.ZodObject | undefined;
}

interface Shape<I extends Input> {
  /** Name of the operation in the OpenAPI document. */
  readonly id: string;
  readonly method: Method;
  /** In OpenAPI's form: `/sandboxes/{sandboxID}`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly params?: z.ZodObject & z.ZodType<I['params']>;
  readonly query?: z.ZodObject & z.ZodType<I['query']>;
  readonly headers?: z.ZodObject & z.ZodType<I['headers']>;
  /** Leaves the headers out of the OpenAPI document. */
  readonly hideHeaders?: boolean;
  readonly body?: z.ZodType<I['body']>;
  /** Longest body, bytes, where it is not that of all operations. */
  readonly bodyLimit?: number;
  /** The operation reads the body itself, and bounds its length and its time. */
  readonly streams?: boolean;
  /** The answers of this operation, besides the errors that every operation has. */
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  /** How the message begins if the input does not fit the schemas; absent: with the field. */
  readonly invalid?: string | undefined;
  /** Name of the operation in the audit log; absent: the operation changes nothing. */
  readonly action?: string | undefined;
  /** The API key may also come in the header `X-Admin-Token`, as clients of E2B's administration send theirs. */
  readonly adminToken?: boolean;
  /** Message of the 401 to a bearer token without `X-API-KEY`; absent: an API key may come as one. */
  readonly bearerRefusal?: string | undefined;
}

/** One operation with its types erased. The HTTP application and the OpenAPI document are made from these. */
export interface Route extends Shape<Input> {
  readonly access: 'public' | 'tenant' | 'admin';
  handle(call: Call, key: ApiKey | undefined): Promise<Answer>;
}

type Handler<C> = (call: C) => Promise<Answer>;

/** An operation that needs an API key; with access `admin`, one of that role. */
export function route<P = unknown, Q = unknown, H = unknown, B = unknown>(
  shape: Shape<{ params: P; query: Q; headers: H; body: B }> & { readonly access?: 'tenant' | 'admin' },
  handler: Handler<TenantCall<{ params: P; query: Q; headers: H; body: B }>>,
): Route {
  const { access = 'tenant', ...rest } = shape;
  return {
    ...rest,
    access,
    handle(call, key) {
      if (key === undefined) throw new Error(`${shape.id} was called without a key`);
      return handler({ ...(call as Call<{ params: P; query: Q; headers: H; body: B }>), key });
    },
  };
}

/** An operation that needs no API key. */
export function buildPublicRoute(shape: Shape<Input>, handler: Handler<Call>): Route {
  return { ...shape, access: 'public', handle: (call) => handler(call) };
}

type Endpoint = Pick<Route, 'id' | 'method' | 'path' | 'summary'>;

/** Name, method with path, and purpose of an operation. */
export function endpoint(id: string, place: `${Method} /${string}`, summary: string): Endpoint {
  const [method, path] = place.split(' ') as [Method, string];
  return { id, method, path, summary };
}
