// The errors of webhooks, with the texts of E2B where it has one (docs/reference/e2b-api.md#webhooks).
import { ApiError, NO_RETRY, notFound } from './api-error.ts';
import { notNow } from './refusals.ts';

const RETRY_SECONDS = 5;

/** 503: the operator has not switched them on. */
export function noWebhooks(): ApiError {
  return new ApiError({ status: 503, message: 'Webhooks are not available', headers: NO_RETRY });
}

/** The same answer for a webhook that does not exist and one of another team: a client must not learn which. */
export function noWebhook(): ApiError {
  return notFound('Webhook not found');
}

export function noDelivery(): ApiError {
  return notFound('Delivery not found');
}

/** 429: the team has as many as it may have. */
export function tooManyWebhooks(limit: number): ApiError {
  const message = `a team may have ${limit} webhooks; delete some`;
  return new ApiError({ status: 429, message, headers: NO_RETRY });
}

/** 503: no process that delivers answers. */
export function noWorker(): ApiError {
  return notNow('deliveries of webhooks cannot be read now', { afterSeconds: RETRY_SECONDS });
}
