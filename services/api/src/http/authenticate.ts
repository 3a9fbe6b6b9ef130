import type { Request } from 'express';
import type { ApiKey, KeyRing } from '@sandlot/tenancy';
import { ApiError } from '../errors/api-error.ts';
import type { Route } from './route.ts';

/** The API key of the request; undefined for a public route. Throws an ApiError 401. */
export function authenticate(keys: Pick<KeyRing, 'find'>, route: Route, request: Request): ApiKey | undefined {
  if (route.access === 'public') return undefined;
  const text = findKeyText(route, request);
  const key = text === undefined ? undefined : keys.find(text);
  if (key === undefined) {
    const message =
      text === undefined ? 'an API key is required in the header X-API-KEY' : 'the API key is unknown or was revoked';
    throw new ApiError({ status: 401, message });
  }
  return key;
}

function findKeyText({ bearerRefusal, adminToken }: Route, request: Request): string | undefined {
  const given = (adminToken === true ? request.get('x-admin-token') : undefined) ?? request.get('x-api-key');
  if (given !== undefined) return given;
  const bearer = /^Bearer (.+)$/i.exec(request.get('authorization') ?? '')?.[1];
  if (bearer !== undefined && bearerRefusal !== undefined) throw new ApiError({ status: 401, message: bearerRefusal });
  return bearer;
}
