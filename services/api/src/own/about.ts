import { z } from 'zod';
import type { Deps } from '../deps.ts';
import { publicRoute } from '../http/route.ts';
import type { Answer, Route } from '../http/route.ts';
import * as schemas from './schemas.ts';

/** Health, the OpenAPI document and its readable form; `document` and `page` are made when they are asked for first. */
export function aboutRoutes(
  { bus, settings, isSynced }: Deps,
  { document, page }: { readonly document: () => object; readonly page: () => string },
): readonly Route[] {
  const shape = { method: 'get', tag: 'health' } as const;
  const text = { description: 'The document.', schema: z.string() };
  return [
    publicRoute(
      {
        ...shape,
        id: 'getHealth',
        path: '/api/v1/health',
        summary: 'Says how the API is.',
        answers: { 200: { description: 'It answers.', schema: schemas.health } },
      },
      async (): Promise<Answer> => {
        const synced = isSynced();
        const body = {
          status: synced ? 'ok' : 'starting',
          synced,
          bus: bus.connected(),
          version: settings.BUILD_VERSION,
        };
        return { status: 200, body };
      },
    ),
    publicRoute(
      {
        ...shape,
        id: 'getOpenApi',
        path: '/api/v1/openapi.json',
        summary: 'The OpenAPI document of this API.',
        answers: { 200: { description: 'The document.', schema: z.record(z.string(), z.unknown()) } },
      },
      async () => ({ status: 200, body: document() }),
    ),
    publicRoute(
      {
        ...shape,
        id: 'getDocs',
        path: '/api/v1/docs',
        summary: 'The same for people.',
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
