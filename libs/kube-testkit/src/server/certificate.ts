/**
 * Certificate of every fake API server: self-signed for 127.0.0.1, ::1 and localhost, valid until 2120.
 * It protects nothing. It lets tests use TLS and ALPN as in production.
 */
export const fixtureCertificate = `-----BEGIN CERTIFICATE-----
MIIBjzCCATWgAwIBAgIBATAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRzYW5kbG90
IHRlc3QgZml4dHVyZTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFow
HzEdMBsGA1UEAwwUc2FuZGxvdCB0ZXN0IGZpeHR1cmUwWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAAQfDSGVJO2k6Ci9LL9ricMIEuoh+ikJm7gKfKPkMN5V/pMuPKe4
UENyNyk3j5mVrAREzxfKZbmhHOZqeqwqV7yjo2AwXjAPBgNVHRMBAf8EBTADAQH/
MCwGA1UdEQQlMCOHBH8AAAGHEAAAAAAAAAAAAAAAAAAAAAGCCWxvY2FsaG9zdDAd
BgNVHQ4EFgQULeg4edyZvSxLTzuH3anI3QoHbAgwCgYIKoZIzj0EAwIDSAAwRQIg
ZhBGKFO940OwXS7XdfokvIubilQF5m4JY0xAjt9qBUkCIQCp4d1Iy7Jutuh4Tl1/
B3zYrOvVOE/VVWEkZDU0omscag==
-----END CERTIFICATE-----
`;

/** Key of {@link fixtureCertificate}, public by design. */
export const fixtureKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6m+ZjitpmbSS+pPv
ce/WQMVkbiBz66tJh1vSqfxY9DOhRANCAAQfDSGVJO2k6Ci9LL9ricMIEuoh+ikJ
m7gKfKPkMN5V/pMuPKe4UENyNyk3j5mVrAREzxfKZbmhHOZqeqwqV7yj
-----END PRIVATE KEY-----
`;
