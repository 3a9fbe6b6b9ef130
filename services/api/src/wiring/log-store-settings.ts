import { ConfigError, Secret } from '@sandlot/config';
import type { StoreSettings } from '../e2b/logs/store/query.ts';
import type { ApiSettings } from './config.ts';

/** How the API reads the store of logs. Throws a ConfigError where credentials contradict each other. */
export function readLogStore(settings: ApiSettings): StoreSettings {
  return {
    url: settings.LOG_STORE_URL ?? '',
    tenant: settings.LOG_STORE_TENANT,
    authorization: findAuthorization(settings),
    namespaceLabel: settings.LOG_STORE_NAMESPACE_LABEL,
    podLabel: settings.LOG_STORE_POD_LABEL,
    selector: settings.LOG_STORE_SELECTOR,
  };
}

function findAuthorization({
  LOG_STORE_TOKEN: token,
  LOG_STORE_USER: user,
  LOG_STORE_PASSWORD: password,
}: ApiSettings): Secret | undefined {
  if (token !== undefined && (user !== undefined || password !== undefined)) {
    refuse('LOG_STORE_TOKEN', 'either a token, or a user and a password');
  }
  if ((user === undefined) !== (password === undefined)) refuse('LOG_STORE_USER', 'a user with a password');
  if (token !== undefined) return new Secret(`Bearer ${token.reveal()}`);
  if (user === undefined || password === undefined) return undefined;
  return new Secret(`Basic ${Buffer.from(`${user}:${password.reveal()}`).toString('base64')}`);
}

function refuse(variable: string, expected: string): never {
  throw new ConfigError([{ variable, expected, got: 'others, which are not shown' }]);
}
