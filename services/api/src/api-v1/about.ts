import type { Bus } from '@sandlot/bus';
import { z } from 'zod';
import { endpoint, buildPublicRoute } from '../http/route.ts';
import type { Answer, Route } from '../http/route.ts';
import * as schemas from './schemas.ts';

export interface AboutDeps {
  readonly bus: Pick<Bus, 'isConnected'>;
  /** Version of the build. */
  readonly version: string;
  /** Whether all informers have synced. */
  readonly isSynced: () => boolean;
}

/** The OpenAPI document and its HTML page. */
export interface Docs {
  readonly document: () => object;
  readonly page: () => string;
}

/** Health, and the documentation of the API. */
export function buildAboutRoutes({ bus, version, isSynced }: AboutDeps, { document, page }: Docs): readonly Route[] {
  const shape = { tag: 'health' } as const;
  const text = { description: 'The document.', schema: z.string() };
  return [
    buildPublicRoute(
      {
        ...endpoint('getHealth', 'get /api/v1/health', 'Says how the API is.'),
        ...shape,
        answers: { 200: { description: 'It answers.', schema: schemas.health } },
      },
      async (): Promise<Answer> => {
        const synced = isSynced();
        const body = { status: synced ? 'ok' : 'starting', synced, bus: bus.isConnected(), version };
        return { status: 200, body };
      },
    ),
    buildPublicRoute(
      {
        ...endpoint('getOpenApi', 'get /api/v1/openapi.json', 'The OpenAPI document of this API.'),
        ...shape,
        answers: { 200: { description: 'The document.', schema: z.record(z.string(), z.unknown()) } },
      },
      async () => ({ status: 200, body: document() }),
    ),
    buildPublicRoute(
      {
        ...endpoint('getDocs', 'get /api/v1/docs', 'The same for people.'),
        ...shape,
        answers: { 200: { ...text, type: 'text/html' } },
      },
      async () => ({
        status: 200,
        text: { type: 'text/html', content: page() },
        headers: { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" },
      }),
    ),
  ];
}
