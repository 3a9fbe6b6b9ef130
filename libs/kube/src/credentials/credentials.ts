/** The address of an API server and the credentials for it. Every new connection reads the fields again. */
export interface Credentials {
  /** `https://host:port`, optionally with a path. `http://` means HTTP/2 in clear text, which only test servers speak. */
  readonly server: string;
  /** PEM. Absent: the public root certificates. */
  readonly ca?: string | Buffer | undefined;
  /** PEM of the client certificate and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** Accepts any server certificate. */
  readonly insecure?: boolean | undefined;
  /** The name in the server's certificate, if it differs from the host of `server`. */
  readonly serverName?: string | undefined;
  /** User to act as, sent as `Impersonate-User`. */
  readonly impersonate?: string | undefined;
  /** Returns the Authorization header. Called before every request, so implementations cache the value. */
  getAuthorization(): Promise<string | undefined>;
  /** Drops cached values after a 401, so that the next calls read the source again. */
  refresh?(): Promise<void>;
}
