import { endpoint, buildPublicRoute } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';

export function buildHealthRoute(): Route {
  return buildPublicRoute(
    {
      ...endpoint('health', 'get /health', 'Says that the API answers.'),
      tag: 'health',
      answers: { 200: { description: 'It does.' } },
    },
    async () => ({ status: 200, text: { type: 'text/plain', content: 'ok\n' } }),
  );
}
