// What a caller says of the place and of the people, by name (L58).
import { expect, test } from 'vitest';
import { memoryLoop } from '../../client/testing/memory-loop.ts';
import { reply, systemText } from '../../scripted-model/index.ts';
import { benchDeps, SESSION } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

test('contexts are parts of the system prompt; a later run is told the one that has changed alone (L58)', async () => {
  const { deps, bodies } = await benchDeps({ script: [reply('One.'), reply('Two.')] });
  const cwd = tempDir();
  const systemContext = { branch: 'main', 'open files': 'a.ts\nb.ts' };
  const userContext = { name: 'Ada', language: 'English' };
  const first = await memoryLoop(deps, {
    session: SESSION,
    text: 'Go.',
    options: { cwd, systemContext, userContext },
  });
  const system = systemText(bodies()[0] as never);
  expect(system).toContain('branch: main');
  expect(system).toContain('open files:\na.ts\nb.ts');
  expect(system.indexOf('name: Ada')).toBeGreaterThan(system.indexOf('branch: main'));

  const later = { cwd, systemContext: { ...systemContext, branch: 'release' }, userContext: { name: 'Ada' } };
  const second = await memoryLoop(deps, { session: SESSION, text: 'And now?', options: later, after: first });
  expect(systemText(bodies()[1] as never)).toBe(system);
  const told = second.entries.find((entry) => entry.kind === 'notice' && entry.notice.kind === 'preamble_changed');
  expect(told).toMatchObject({
    notice: {
      parts: [{ name: 'branch (system context)', text: 'branch: release' }],
      ended: ['language (user context)'],
    },
  });
});
