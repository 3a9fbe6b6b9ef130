import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { oneSandbox } from '../operations/shape.ts';
import { forkSandbox } from './fork-sandbox.ts';
import type { ForkRouteDeps } from './fork-sandbox.ts';
import { forkEntry, forkRequest } from './schemas.ts';

export function buildForkRoute(deps: ForkRouteDeps): Route {
  return route(
    {
      ...endpoint(
        'forkSandbox',
        'post /sandboxes/{sandboxID}/fork',
        'Makes sandboxes that go on from the memory and the files of a running one, which goes on as well.',
      ),
      ...oneSandbox,
      body: forkRequest,
      answers: { 201: { description: 'One entry for each fork.', schema: z.array(forkEntry) } },
      action: 'sandbox.fork',
    },
    (call) => forkSandbox(deps, call),
  );
}
