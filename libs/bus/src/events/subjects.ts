import type { EventType } from './catalogue.ts';
import { isEventType } from './catalogue.ts';

const ROOT = 'sandlot';
/** Most names need no encoding. */
const PLAIN = /^[\w-]+$/;

/**
 * One token of a NATS subject. Everything but letters, digits, `-` and `_` is percent-encoded, so that no name can add
 * a token or a wildcard; an empty name is a lone `%`.
 */
export function escapeToken(name: string): string {
  if (name === '') return '%';
  if (PLAIN.test(name)) return name;
  return encodeURIComponent(name.toWellFormed()).replaceAll(/[.!~*'()]/g, percentEncode);
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

function unescapeToken(token: string): string | undefined {
  if (token === '%') return '';
  try {
    return decodeURIComponent(token);
  } catch {
    return undefined;
  }
}

/** Where the replies of a user's requests arrive. Each user has its own, so that the server can close it to the others. */
export function formatInboxPrefix(user: string | undefined): string {
  return user === undefined ? '_INBOX' : `_INBOX_${escapeToken(user)}`;
}

/** Subject of an event: `sandlot.<namespace>.<kind>.<event>`, such as `sandlot.team-a.claim.bound`. */
export function formatSubject(type: EventType, namespace: string): string {
  return `${ROOT}.${escapeToken(namespace)}.${type}`;
}

/** Subject that matches the events of one type in all namespaces. */
export function formatSubjectInAllNamespaces(type: EventType): string {
  return `${ROOT}.*.${type}`;
}

/** Namespace and type of a subject made by {@link formatSubject}; undefined for any other. */
export function parseSubject(subject: string): { readonly namespace: string; readonly type: EventType } | undefined {
  const [root, token, ...rest] = subject.split('.');
  const type = rest.join('.');
  if (root !== ROOT || token === undefined || !isEventType(type)) return undefined;
  const namespace = unescapeToken(token);
  return namespace === undefined ? undefined : { namespace, type };
}
