import { describe } from 'vitest';
import { registerPythonTests } from '../support/sdk/python-tests.ts';

describe('the e2b client for Python', () => registerPythonTests('e2b_client'));
describe('the code interpreter client for Python', () => registerPythonTests('code_interpreter'));
