import { endpoint, publicRoute } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';

export function healthRoute(): Route {
  return publicRoute(
    {
      ...endpoint('health', 'get /health', 'Says that the API answers.'),
      tag: 'health',
      answers: { 200: { description: 'It does.' } },
    },
    async () => ({ status: 200, text: { type: 'text/plain', content: 'ok\n' } }),
  );
}
