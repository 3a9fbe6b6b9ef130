import { z } from 'zod';
import { notSupported } from '../errors/refusals.ts';
import { route } from '../http/route.ts';
import type { Method, Route } from '../http/route.ts';
import { errorAnswer } from '../errors/schema.ts';

/**
 * Unsupported paths of the E2B API with their methods; `feature` is its name in the error message. The first that fits a request
 * answers it.
 */
const PATHS: readonly (readonly [feature: string, path: string, methods: readonly Method[]])[] = [
  ['template builds', '/templates', ['post']],
  ['template builds', '/templates/{templateID}', ['post']],
  ['template builds', '/templates/{templateID}/builds/{buildID}', ['post']],
];

const answers = { 501: { description: 'Not built.', schema: errorAnswer } };

/** An operation that answers 501. */
export interface UnsupportedOperation {
  /** Its name in the error message. */
  readonly feature: string;
  readonly method: Method;
  readonly path: string;
}

export const unsupportedOperations: readonly UnsupportedOperation[] = PATHS.flatMap(([feature, path, methods]) =>
  methods.map((method) => ({ feature, method, path })),
);

function buildUnsupportedRoute({ feature, path, method }: UnsupportedOperation): Route {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const params =
    names.length === 0 ? {} : { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) };
  return route(
    {
      id: buildOperationId(method, path),
      method,
      path,
      summary: `Not supported: ${feature}.`,
      tag: 'not supported',
      ...params,
      answers,
    },
    () => Promise.reject(notSupported(feature)),
  );
}

export function buildOperationId(method: Method, path: string): string {
  const name = path.replaceAll(/[^a-zA-Z0-9]+(\w)/g, (_all, letter: string) => letter.toUpperCase());
  return `${method}${name.replaceAll(/\W/g, '')}`;
}

/** Routes that answer 501, so that a client's error names the missing feature (docs/reference/e2b-api.md#routes). */
export const unsupportedRoutes: readonly Route[] = unsupportedOperations.map(buildUnsupportedRoute);
