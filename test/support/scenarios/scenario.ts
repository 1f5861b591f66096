// One scenario for each transition and each way a run can end by itself: what the model says, and
// what the run must come to. They run once in peace, once with the worker killed at a model call,
// and once handed over at every iteration.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fault, reply, text, toolUse, type Reply } from '../../../scripted-model/index.ts';
import type { TerminalReason, TransitionReason } from '../../../workflows/contract/loop.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import type { PerdureConfig } from '../../../worker/config/config.ts';
import { pngOf } from '../images.ts';

export type Scenario = {
  readonly name: string;
  readonly replies: readonly Reply[];
  readonly options?: Partial<RunOptions>;
  /** What the worker is configured with; it crosses to another process as JSON. */
  readonly config?: PerdureConfig;
  readonly transitions: readonly TransitionReason[];
  readonly reason: TerminalReason;
  readonly turns: number;
  /** Model requests that the run makes, retries included. */
  readonly requests: number;
  /** Words that the last of them has. */
  readonly told?: string;
};

export const read = (n: number): Reply => reply([text(`Look ${n}.`), toolUse('read', { path: 'a.txt' })]);

export const write = (n: number): Reply => reply([toolUse('bash', { command: `echo effect ${n} >> effects.log` })]);

/** By max_tokens, after these words. */
export const cut = (words: string, times = 1): Reply =>
  fault({ maxTokensAfter: { block: 0, chars: words.length } }, `${words} and more`, { times });

/** So much of it that every budget is spent. */
export const dear = { usage: { input_tokens: 1_000_000, output_tokens: 0 } };

/** What every scenario finds in its workspace. */
const files: Readonly<Record<string, string | Buffer>> = {
  'a.txt': 'hello\n',
  'picture.png': pngOf(20, 10),
  '.perdure/skills/greet/SKILL.md': '---\nname: greet\ndescription: Greets\n---\nSay hello.\n',
  'library/AGENTS.md': 'Use tabs here.\n',
  'library/b.txt': 'hello\n',
  'large.txt': Array.from({ length: 200 }, (_, n) => `line ${n} of a file that is rather long, to fill a window`).join(
    '\n',
  ),
};

/** `heading`: begins the large file. */
export function fillWorkspace(cwd: string, heading = ''): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), content);
  }
  if (heading !== '') writeFileSync(join(cwd, 'large.txt'), `${heading}\n${String(files['large.txt'])}`);
}
