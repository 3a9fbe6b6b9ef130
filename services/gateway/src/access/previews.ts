import { PREVIEW_PARAMETER, checkPreview } from '@sandlot/tenancy';
import type { PreviewVerdict } from '@sandlot/tenancy';
import type { Terms } from '../directory/target.ts';
import type { SandboxExchange } from '../proxy/exchange.ts';
import type { Peer } from '../proxy/peer.ts';
import type { Refusal } from '../refusals/refusal.ts';

/** A browser sets and sends a cookie of this prefix over TLS and for one host only, so that no neighbour can set it. */
const SECURE_NAME = `__Host-${PREVIEW_PARAMETER}`;
const NAMES = [SECURE_NAME, PREVIEW_PARAMETER];
/** Each costs a check of a signature. An honest client has one. */
const MOST_COOKIES = 4;

/** Whether a preview lets an exchange pass (`undefined`), or what the gateway answers; `none`: the client shows no preview. */
export function checkPreviews(exchange: SandboxExchange, terms: Terms, nowMs: number): Refusal | 'none' | undefined {
  const { preview, id, port, route } = exchange;
  const check = (token: string): PreviewVerdict =>
    checkPreview(token, { key: terms.previewKey, uid: terms.uid, port, nowMs });
  if (preview !== undefined) return openPreview(exchange, { token: preview, verdict: check(preview), nowMs });
  // Below the gateway's own host all sandboxes would share the cookie.
  if (route !== 'host' || !isOfOwnPage(exchange)) return 'none';
  const verdicts = listCookies(exchange).map(check);
  const [first] = verdicts;
  if (first === undefined) return 'none';
  if (verdicts.some(({ kind }) => kind === 'valid')) return undefined;
  return first.kind === 'valid' ? undefined : { kind: 'preview', id, why: first.kind };
}

interface Opening {
  readonly token: string;
  readonly verdict: PreviewVerdict;
  readonly nowMs: number;
}

/** A page gets a cookie and its address without the signature, which it would pass on in Referer; other requests just pass. */
function openPreview(exchange: SandboxExchange, { token, verdict, nowMs }: Opening): Refusal | undefined {
  if (verdict.kind !== 'valid') return { kind: 'preview', id: exchange.id, why: verdict.kind };
  const { request, upgrade, path } = exchange;
  const isPage = request.method === 'GET' && upgrade === undefined && request.headers.accept?.includes('text/html');
  if (isPage !== true || exchange.route !== 'host') return undefined;
  const seconds = Math.ceil(verdict.expires - nowMs / 1_000);
  const isSecure = isEncrypted(exchange);
  const name = isSecure ? SECURE_NAME : PREVIEW_PARAMETER;
  const cookie = `${name}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  // A browser reads `//host` as another server.
  return { kind: 'preview-opened', location: /^\/[/\\]/.test(path) ? `/.${path}` : path, cookie };
}

/** Whether the client's connection is encrypted, by the word of a trusted proxy if there is one. */
function isEncrypted({
  peer,
  request,
}: {
  readonly peer: Peer;
  readonly request: SandboxExchange['request'];
}): boolean {
  const said = request.headers['x-forwarded-proto'];
  return peer.isTrusted && typeof said === 'string' ? said.toLowerCase() === 'https' : peer.proto === 'https';
}

/**
 * Whether the browser sends the request for a page of this host, or because its user went there. Other sandboxes are other hosts of
 * the same site, for which SameSite hides no cookie.
 */
function isOfOwnPage({ request: { headers, method }, peer }: SandboxExchange): boolean {
  const { origin } = headers;
  if (origin !== undefined && parseHost(origin) !== peer.host.toLowerCase()) return false;
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

const parseHost = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);

function listCookies(exchange: SandboxExchange): readonly string[] {
  const names = isEncrypted(exchange) ? [SECURE_NAME] : NAMES;
  const pairs = (exchange.request.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const values = pairs.flatMap((pair) => {
    const name = names.find((each) => pair.startsWith(`${each}=`));
    return name === undefined ? [] : [pair.slice(name.length + 1)];
  });
  return values.slice(0, MOST_COOKIES);
}

/** The value of a Cookie header without what opens previews; undefined: nothing is left. */
export function removePreviewCookies(value: string): string | undefined {
  if (value === '') return undefined;
  if (!value.includes(PREVIEW_PARAMETER)) return value;
  const kept = value.split(';').filter((pair) => !NAMES.some((name) => pair.trim().startsWith(`${name}=`)));
  const left = kept.join(';').trim();
  return left === '' ? undefined : left;
}

/** Whether a Referer has the signature of a preview, which a client that does not follow redirects may send. */
export function hasPreview(referer: string): boolean {
  return referer.includes(`${PREVIEW_PARAMETER}=`);
}
