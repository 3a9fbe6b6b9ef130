// The errors of template builds, with the texts of E2B where it has one (docs/reference/e2b-api.md#template-builds).
import { ApiError, NO_RETRY, badRequest, notFound } from './api-error.ts';
import { notNow } from './refusals.ts';

const RETRY_SECONDS = 5;
/** The answer comes before the body has arrived. */
const CLOSE: Readonly<Record<string, string>> = { ...NO_RETRY, Connection: 'close' };

/** 503: no process of the template-builder answers, or it says that it cannot do it now. */
export function noBuilder(message = 'no builder is available'): ApiError {
  return notNow(message, { afterSeconds: RETRY_SECONDS });
}

/** 400, as E2B answers it, for a build that does not exist, is of another template or of another team. */
export function noBuild(id: string): ApiError {
  return badRequest(`Build '${id}' not found`);
}

/** The same answer for a template that does not exist and one of another team: a client must not learn which. */
export function noTemplate(text: string): ApiError {
  return notFound(`template '${text}' not found`);
}

export function noTag(tag: string, template: string): ApiError {
  return notFound(`tag '${tag}' does not exist for template '${template}'`);
}

/** 400: it was started before, or has ended. */
export function notWaiting(): ApiError {
  return new ApiError({ status: 400, message: 'build is not in waiting state', headers: NO_RETRY });
}

/** 403: the name means something that no build of the API made. */
export function takenName(name: string): ApiError {
  const message = `'${name}' is the name of a template that was not built over this API; choose another name`;
  return new ApiError({ status: 403, message, headers: NO_RETRY });
}

/** 413: Kubernetes could not keep the build. */
export function tooLargeBuild(mostBytes: number): ApiError {
  const message = `the build is larger than ${mostBytes} bytes; move long commands into files and copy these`;
  return new ApiError({ status: 413, message, headers: NO_RETRY });
}

/** 413: more than an archive may have. */
export function tooLargeFiles(mostBytes: number): ApiError {
  return new ApiError({ status: 413, message: `the files are larger than ${mostBytes} bytes`, headers: CLOSE });
}

/** 408: nothing of the body has arrived for so long. */
export function stoodStill(seconds: number): ApiError {
  return new ApiError({ status: 408, message: `the upload stood still for ${seconds} s`, headers: CLOSE });
}

/** 400, and 413 where the template-builder found it too large. */
export function refusedFiles(status: number, message: string): ApiError {
  return new ApiError({ status, message, headers: CLOSE });
}

/** 429: a namespace has as many uploads as it may have at a time. */
export function tooManyUploads(most: number): ApiError {
  const message = `at most ${most} uploads of a team are received at the same time; try again`;
  return new ApiError({ status: 429, message, headers: { 'Retry-After': String(RETRY_SECONDS), Connection: 'close' } });
}

/** 403: the signature is not of this upload, or no longer counts. */
export function badSignature(): ApiError {
  const message = 'the signature of this URL is wrong or has expired; ask for another one';
  return new ApiError({ status: 403, message, headers: CLOSE });
}
