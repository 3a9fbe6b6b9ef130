/** A key, a certificate that it signed, and its hash. Public by design: they protect nothing. */
export interface TestIdentity {
  readonly key: string;
  readonly cert: string;
  /** SHA-256 of the public key in base64url. */
  readonly publicKeyHash: string;
}

/** Two servers that are recognised by their keys. */
export const identities: readonly [TestIdentity, TestIdentity] = [
  {
    key: `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIO3GcoDTpX2W60cA4nV0k/sdnCTEdN/Rr10KYsr8bpUa
-----END PRIVATE KEY-----
`,
    cert: `-----BEGIN CERTIFICATE-----
MIIBWzCCAQ2gAwIBAgIUbyiIr9foJrFotunZjn6e81QIrj0wBQYDK2VwMCIxIDAe
BgNVBAMMF3NhbmRsb3QgdGVzdCBpZGVudGl0eSAxMCAXDTI2MTEyMzA4NDYwN1oY
DzIxMjYxMDMwMDg0NjA3WjAiMSAwHgYDVQQDDBdzYW5kbG90IHRlc3QgaWRlbnRp
dHkgMTAqMAUGAytlcAMhAG3US6jipWlNPUW+BQaVyJC0UCwXovZfG2LpYO6QLieh
o1MwUTAdBgNVHQ4EFgQUFgQu2En1EGosFbYMhbrZOF0wwFgwHwYDVR0jBBgwFoAU
FgQu2En1EGosFbYMhbrZOF0wwFgwDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQDa
Am47DRB/9L148lIN0nirmbol4ucl+94fX/pXSTIEYZgMPtDC8VQudXA20HOrAC0r
FgGJUd/gokC1AdbrO0kC
-----END CERTIFICATE-----
`,
    publicKeyHash: 'xfCl27QpmoLX_UMe7UEBrAnq4XrguaWVmoosylM0gNE',
  },
  {
    key: `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIO4Kwmg4EO+dQ0WEmef/TrGKgCA4n/eUC3y2wR7Jzecr
-----END PRIVATE KEY-----
`,
    cert: `-----BEGIN CERTIFICATE-----
MIIBWzCCAQ2gAwIBAgIUX59z/rHkpJL/5WyKxJV7UjfbaEAwBQYDK2VwMCIxIDAe
BgNVBAMMF3NhbmRsb3QgdGVzdCBpZGVudGl0eSAyMCAXDTI2MTEyMzA4NDYwN1oY
DzIxMjYxMDMwMDg0NjA3WjAiMSAwHgYDVQQDDBdzYW5kbG90IHRlc3QgaWRlbnRp
dHkgMjAqMAUGAytlcAMhAP8A9KuuFizbniEfVfwQaA/bUgaJGXdShVYmBxkicf3/
o1MwUTAdBgNVHQ4EFgQUNnRFXGSBhiDhgTPfXCX74se76a0wHwYDVR0jBBgwFoAU
NnRFXGSBhiDhgTPfXCX74se76a0wDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQCH
l5OfXU0VOm7RcMJ1VKfJwcRRdELDIk5sjE6PtsksXv5JxK3n5ITscge9DCLCiHMV
kxv9Hs/E5LHWwmuc2r8I
-----END CERTIFICATE-----
`,
    publicKeyHash: 'Sff3YYYJO5qoo7QxtZZAxhz9sgKCzlbzhhtak7lyXk4',
  },
];
