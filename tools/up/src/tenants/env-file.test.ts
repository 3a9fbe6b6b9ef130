import { describe, expect, it } from 'vitest';
import { formatEnv, parseEnv } from './env-file.ts';

describe('the file for the shells of clients', () => {
  it('is read as it was written, and lacks what there is not', () => {
    const variables = { E2B_API_KEY: 'e2b_0', E2B_API_URL: 'http://10.96.0.9:8080', KUBECONFIG: undefined };
    const text = formatEnv(variables);
    expect(text).toBe("export E2B_API_KEY='e2b_0'\nexport E2B_API_URL='http://10.96.0.9:8080'\n");
    expect(parseEnv(text)).toEqual({ E2B_API_KEY: 'e2b_0', E2B_API_URL: 'http://10.96.0.9:8080' });
  });

  it('gives nothing away of lines that are something else', () => {
    expect(parseEnv('# a comment\nexport A=b\nE2B_API_KEY=x\n')).toEqual({});
  });
});
