import { describe, expect, it } from 'vitest';
import { formatEnv, parseEnv } from './env-file.ts';

describe('the env file', () => {
  it('reads back the variables it wrote, without undefined ones', () => {
    const variables = { E2B_API_KEY: 'e2b_0', E2B_API_URL: 'http://10.96.0.9:8080', KUBECONFIG: undefined };
    const text = formatEnv(variables);
    expect(text).toBe("export E2B_API_KEY='e2b_0'\nexport E2B_API_URL='http://10.96.0.9:8080'\n");
    expect(parseEnv(text)).toEqual({ E2B_API_KEY: 'e2b_0', E2B_API_URL: 'http://10.96.0.9:8080' });
  });

  it('ignores lines that it did not write', () => {
    expect(parseEnv('# a comment\nexport A=b\nE2B_API_KEY=x\n')).toEqual({});
  });
});
