// The alert rules, by Prometheus's own tool.
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { promtool, rulesFile } from '../support/prometheus.ts';

test('the alert rules speak when they should and only then: not at one bad end, and when nothing reports (O17 F27)', () => {
  expect(promtool(['check', 'rules', rulesFile])).toBe('');
  expect(promtool(['test', 'rules', join(dirname(rulesFile), 'alerts.test.yml')])).toBe('');
});
