import { describe } from 'vitest';
import { registerPythonTests } from '../support/sdk/python-tests.ts';

describe('pauses and connects with flags by the e2b client for Python', () => registerPythonTests('pause_modes'));
describe('snapshots and forks by the e2b client for Python', () => registerPythonTests('snapshots'));
