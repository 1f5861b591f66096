// Completions as the shells make of them, of those that are installed.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliOf } from '../../../cli/cli.ts';
import { completionScript, type Shell } from '../../../cli/help/completions.ts';
import { createProgram } from '../../../cli/program.ts';
import { tempDir } from '../../support/temp-dir.ts';

const program = await createProgram(cliOf(process, { verbose: false, exit: () => undefined }));
const script = (shell: Shell): string => completionScript(shell, program);
const has = (shell: Shell): boolean => spawnSync(shell, ['--version']).status === 0;

/** What bash offers for the last of the words. */
function offered(...words: readonly string[]): readonly string[] {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'task.md'), '');
  mkdirSync(join(cwd, 'folder'));
  const given = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
  const code = `${script('bash')}\n${given}; _perdure; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', code], { cwd, encoding: 'utf8' });
  return out.split('\n').filter((line) => line !== '');
}

test('bash completes commands, options, values, files and folders (O19)', () => {
  expect(offered('perdure', 'sc')).toEqual(['schedule', 'scripted-model']);
  expect(offered('perdure', 'schedule', 'tr')).toEqual(['trigger']);
  expect(offered('perdure', 'show', '--t')).toEqual(['--timeline']);
  expect(offered('perdure', '--verbose', 'show', '--f')).toEqual(['--full']);
  expect(offered('perdure', 'run', '--permission-mode', 'a')).toEqual(['acceptEdits']);
  expect(offered('perdure', 'run', '--prompt-file', 'ta')).toEqual(['task.md']);
  expect(offered('perdure', 'run', '--cwd', '')).toEqual(['folder']);
  expect(offered('perdure', 'run', '--model', '')).toEqual([]);
});

test.runIf(has('zsh'))('zsh reads them without an error (O19)', () => {
  const { status, stderr } = spawnSync('zsh', [
    '-fc',
    `autoload -U compinit; compinit -D -u\n${script('zsh')}\n(( $+_comps[perdure] ))`,
  ]);
  expect([status, String(stderr)]).toEqual([0, '']);
});

test.runIf(has('fish'))('fish completes commands and values (O19)', () => {
  const asked = (line: string): string =>
    execFileSync('fish', ['--no-config', '-c', `${script('fish')}\ncomplete -C '${line}'`], { encoding: 'utf8' });
  expect(asked('perdure scr')).toMatch(/^scripted-model\t/);
  expect(asked('perdure run --permission-mode a')).toMatch(/^acceptEdits\t/);
});
