import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { benchDeps } from '../support/bench-deps.ts';

test('a reply that stops because the window is full is a prompt too long: none of its calls is run (L15 L24)', async () => {
  const full = reply([toolUse('look', { n: 1 })], { stop_reason: 'model_context_window_exceeded' });
  const bench = await benchDeps({ script: [full] });
  const result = await bench.call();
  expect(result.kind).toBe('too_long');
  expect(result).not.toHaveProperty('calls');
});
