import { describe } from 'vitest';
import { registerPythonTests } from '../support/sdk/python-tests.ts';

describe('volumes by the e2b client for Python', () => registerPythonTests('volumes'));
