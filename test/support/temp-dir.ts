// A fresh folder for a test, removed when the test is over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'perdure-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }));
  return dir;
}
