import type { ApiKey } from '@sandlot/tenancy';
import type { Readable } from 'node:stream';
import type { z } from 'zod';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** What a handler answers. */
export interface Answer {
  readonly status: number;
  /** JSON; absent: no body at all. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as it is, instead of a JSON body. */
  readonly text?: { readonly type: string; readonly content: string } | undefined;
  /** Sent as it comes, until it or the caller ends. */
  readonly stream?: { readonly type: string; readonly content: Readable } | undefined;
}

/** Whom a request comes from, and what it is about once that is known: for the audit log. */
export interface Trail {
  /** The object that is asked for, as far as the handler got. */
  about(object: { readonly namespace?: string; readonly name: string; readonly uid?: string }): void;
}

/** A request after parsing. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Headers by lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly requestId: string;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
  readonly trail: Trail;
}

export interface TenantCall<P = unknown, Q = unknown, B = unknown> extends Call<P, Q, B> {
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

interface Shape<P, Q, B> {
  /** Name of the operation in the OpenAPI document. */
  readonly id: string;
  readonly method: Method;
  /** In OpenAPI's form: `/sandboxes/{sandboxID}`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly params?: z.ZodObject & z.ZodType<P>;
  readonly query?: z.ZodObject & z.ZodType<Q>;
  /** Headers that matter, for the document. */
  readonly headers?: z.ZodObject | undefined;
  readonly body?: z.ZodType<B>;
  /** The largest number of answers a refusal can have is documented for all; these are the others. */
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  /** What the audit log calls it; absent: it changes nothing. */
  readonly action?: string | undefined;
}

/** One operation, with its parts erased: what the application and the document are made from. */
export interface Route extends Shape<unknown, unknown, unknown> {
  /** `optional`: works without a key, and knows whose it is if there is one. */
  readonly access: 'public' | 'tenant' | 'admin';
  handle(call: Call, key: ApiKey | undefined): Promise<Answer>;
}

type Handler<C> = (call: C) => Promise<Answer>;

/** An operation for holders of a key; `admin`: of that role. */
export function route<P = unknown, Q = unknown, B = unknown>(
  shape: Shape<P, Q, B> & { readonly access?: 'tenant' | 'admin' },
  handler: Handler<TenantCall<P, Q, B>>,
): Route {
  const { access = 'tenant', ...rest } = shape;
  return {
    ...rest,
    access,
    handle(call, key) {
      if (key === undefined) throw new Error(`${shape.id} was called without a key`);
      return handler({ ...(call as Call<P, Q, B>), key });
    },
  };
}

/** An operation for everybody. */
export function publicRoute<P = unknown, Q = unknown, B = unknown>(
  shape: Shape<P, Q, B>,
  handler: Handler<Call<P, Q, B>>,
): Route {
  return { ...shape, access: 'public', handle: (call) => handler(call as Call<P, Q, B>) };
}

type Endpoint = Pick<Route, 'id' | 'method' | 'path' | 'summary'>;

/** Name, method with path, and purpose of an operation. */
export function endpoint(id: string, place: `${Method} /${string}`, summary: string): Endpoint {
  const [method, path] = place.split(' ') as [Method, string];
  return { id, method, path, summary };
}
