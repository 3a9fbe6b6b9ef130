// The errors of volumes, with the texts of E2B where it has one (docs/reference/e2b-api.md#volumes).
import { ApiError, NO_RETRY, badRequest, forbidden, notFound } from './api-error.ts';
import { conflict, notNow } from './refusals.ts';

const RETRY_SECONDS = 1;

/** The same answer for a volume that does not exist and one of another team: a client must not learn which. */
export function noVolume(id: string): ApiError {
  return notFound(`volume '${id}' not found`);
}

/** 400, as E2B answers it. */
export function takenVolumeName(name: string): ApiError {
  return badRequest(`Volume with name '${name}' already exists`);
}

/** 403: the team has as many volumes as it may have. */
export function tooManyVolumes(limit: number): ApiError {
  return forbidden(`volumes are limited to ${limit} for this team`);
}

/** 409: its data would go while sandboxes use it. */
export function usedVolume(name: string, count: number): ApiError {
  return conflict(`volume '${name}' is used by ${count} ${count === 1 ? 'sandbox' : 'sandboxes'}`);
}

/** 409: sandboxes of the template have it from their start. */
export function templateVolume(name: string, template: string): ApiError {
  return conflict(`volume '${name}' is mounted by template '${template}'; take it out of the template first`);
}

/** 401: `Volume.connect` gets another token. */
export function badVolumeToken(): ApiError {
  const message =
    'the token of the volume is missing, has expired or is of another volume; connect to the volume again';
  return new ApiError({ status: 401, message, headers: NO_RETRY });
}

/** 503: the file server of the namespace does not answer. Nothing was begun. */
export function noFileServer(): ApiError {
  return notNow('the file server of the volumes is starting; try again', { afterSeconds: RETRY_SECONDS });
}

/** 503: the connection to the file server ended. What it was to do may be done. */
export function lostFileServer(): ApiError {
  const message = 'the connection to the file server of the volumes ended; look at the volume before you try again';
  return new ApiError({ status: 503, message, headers: NO_RETRY });
}

/** 408: nothing of a transfer moved for so long. */
export function stillTransfer(seconds: number): ApiError {
  return new ApiError({ status: 408, message: `the transfer stood still for ${seconds} s`, headers: NO_RETRY });
}

/** 429: a team has as many operations on contents as it may have at a time. */
export function tooManyTransfers(most: number): ApiError {
  const message = `at most ${most} operations on the volumes of a team run at the same time; try again`;
  return new ApiError({ status: 429, message, headers: { 'Retry-After': String(RETRY_SECONDS) } });
}
