import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { createHeaders } from '../request/headers.ts';
import { newSandboxV1, newSandboxV2 } from '../request/schemas.ts';
import { createSandbox } from './create-sandbox.ts';
import type { CreateDeps } from './create-sandbox.ts';
import { created, TAG } from './shape.ts';

export function createRoutes(deps: CreateDeps): readonly Route[] {
  const shape = { tag: TAG, headers: createHeaders, answers: { 201: created }, action: 'sandbox.create' };
  return [
    route(
      {
        ...endpoint('createSandboxV2', 'post /v2/sandboxes', 'Creates a sandbox.'),
        ...shape,
        body: newSandboxV2,
      },
      (call) => createSandbox(deps, call),
    ),
    route(
      {
        ...endpoint('createSandbox', 'post /sandboxes', 'Creates a sandbox (version 1).'),
        ...shape,
        body: newSandboxV1,
      },
      (call) => createSandbox(deps, call),
    ),
  ];
}
