// Packages of Python in a virtual environment, for the tests of one file.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import { reasonOf } from '../../system/text.ts';

const run = promisify(execFile);

export type PythonPackages = {
  /** A folder that is removed when the tests of the file have ended. */
  readonly folder: string;
  /** The path of the interpreter that finds the packages. */
  readonly python: string;
  /** Tells, once tests run, whether the packages could not be installed here. */
  isMissing(): boolean;
};

/** Has the packages installed before the tests of the file; says so where that cannot be done. */
export function installPackages(packages: readonly string[]): PythonPackages {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-python-'));
  const python = join(folder, 'venv/bin/python');
  let isMissing = false;
  beforeAll(async () => {
    try {
      await run('python3', ['-m', 'venv', join(folder, 'venv')]);
      await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
    } catch (error) {
      isMissing = true;
      console.warn(`${packages.join(' and ')} cannot be installed here: ${reasonOf(error).slice(0, 200)}`);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return { folder, python, isMissing: () => isMissing };
}
