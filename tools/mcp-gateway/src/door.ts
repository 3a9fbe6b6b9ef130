// Who may come in: a pure decision on the head of a request.
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

const PATH = '/mcp';

/** What the decision reads of a request. */
export interface Knock {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
  /** Whether the connection comes from the sandbox itself. */
  readonly isLocal: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Says why a request is refused; undefined if it may pass. */
export function decideRefusal(knock: Knock, token: string): Refusal | undefined {
  if (knock.url?.split('?', 1)[0] !== PATH)
    return { status: 404, message: `there is nothing here: the path is ${PATH}` };
  return (
    refuseHost(knock) ??
    refuseOrigin(knock) ??
    refuseToken(knock.authorization, token) ??
    // Each request stands alone, so there is no stream to open and no session to end.
    (knock.method === 'POST' ? undefined : { status: 405, message: 'use POST', headers: { Allow: 'POST' } })
  );
}

/**
 * A page in a browser of the sandbox may point a name of its own at this machine. Names of others arrive through the platform's
 * gateway, and so never from the sandbox itself.
 */
function refuseHost({ host, isLocal }: Knock): Refusal | undefined {
  const name = readHost(host);
  if (name === undefined) return { status: 400, message: 'the request names no host' };
  if (!isLocal || name === 'localhost' || isIP(name) !== 0) return undefined;
  return { status: 403, message: 'this host is not the sandbox: use localhost' };
}

/** Pages of other origins have no business here. Programs send no Origin. */
function refuseOrigin({ host, origin }: Knock): Refusal | undefined {
  if (origin === undefined) return undefined;
  const isSame = URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
  return isSame ? undefined : { status: 403, message: 'requests of pages from another origin are refused' };
}

function refuseToken(authorization: string | undefined, token: string): Refusal | undefined {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (given !== undefined && timingSafeEqual(digest(given), digest(token))) return undefined;
  const headers = { 'WWW-Authenticate': 'Bearer' };
  return { status: 401, message: 'the token of this gateway is needed: Authorization: Bearer <token>', headers };
}

/** Digests have one length, so the comparison says nothing about that of the token. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The name in Host without port and brackets, in lower case. Undefined if it is none. */
function readHost(host: string | undefined): string | undefined {
  const url = `http://${host ?? ''}`;
  if (host === undefined || /[/@?#\\]/.test(host) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
