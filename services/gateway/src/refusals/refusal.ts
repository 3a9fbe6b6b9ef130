import type { GoneReason } from '../directory/decide-ending.ts';
import type { LimitName } from '../limits/limit-names.ts';

/** Why a request does not reach a sandbox. docs/reference/e2b-api.md#data-plane-errors has the answers. */
export type Refusal =
  | { readonly kind: 'gone'; readonly id: string; readonly reason: GoneReason }
  | { readonly kind: 'port-closed'; readonly id: string; readonly port: number }
  | { readonly kind: 'no-answer'; readonly id: string; readonly port: number; readonly detail: string }
  | { readonly kind: 'late'; readonly id: string; readonly seconds: number }
  /** As `late`, but for a time the gateway could not ask for the wake, because NATS was away. */
  | { readonly kind: 'delayed'; readonly id: string; readonly seconds: number }
  | { readonly kind: 'malformed'; readonly message: string }
  | { readonly kind: 'traffic-token'; readonly id: string }
  | { readonly kind: 'preview'; readonly id: string; readonly why: 'expired' | 'revoked' | 'foreign' }
  /** The preview is right: the page is to be asked for again without its signature, which the cookie keeps. */
  | { readonly kind: 'preview-opened'; readonly location: string; readonly cookie: string }
  | { readonly kind: 'unauthorised'; readonly status: 401 | 403; readonly message: string }
  | { readonly kind: 'too-many'; readonly id: string | undefined; readonly limit: number; readonly whose: string }
  /** A share is used up: the same request succeeds later, and others are served meanwhile. */
  | { readonly kind: 'limited'; readonly limit: LimitName; readonly message: string }
  | { readonly kind: 'blocked'; readonly path: string }
  | { readonly kind: 'unsure'; readonly message: string }
  | { readonly kind: 'timeout'; readonly id: string; readonly seconds: number }
  /** This gateway stops, and the sandbox has the request. */
  | { readonly kind: 'stopping'; readonly id: string };

export const REFUSAL_KINDS = [
  'gone',
  'port-closed',
  'no-answer',
  'late',
  'delayed',
  'malformed',
  'traffic-token',
  'preview',
  'preview-opened',
  'unauthorised',
  'too-many',
  'limited',
  'blocked',
  'unsure',
  'timeout',
  'stopping',
] as const satisfies readonly Refusal['kind'][];
