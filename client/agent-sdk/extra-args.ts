// Arguments for the process of the in-process agent (`extraArgs`). There is none here: those that
// guard or shape are the options that they stand for, and one that is neither that nor harmless is
// refused.
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { reasonOf } from '../../system/text.ts';
import { ClientProblem } from '../problem.ts';
import type { Options } from './shapes/options.ts';

type Translate = (value: string, options: Options) => Options;

const list = (value: string): string[] => {
  const parts = value.match(/[^,\s(]+(?:\([^)]*\))?/g) ?? [];
  return parts.filter((part) => part !== '');
};

/** Texts before ours stay. */
function appended({ systemPrompt }: Options, text: string): Options {
  if (systemPrompt === undefined) return { systemPrompt: { type: 'preset', preset: 'claude_code', append: text } };
  if (typeof systemPrompt === 'string') return { systemPrompt: [systemPrompt, text] };
  if (Array.isArray(systemPrompt)) return { systemPrompt: [...systemPrompt, text] };
  if (systemPrompt.type === 'custom') return appended({ systemPrompt: systemPrompt.prompt }, text);
  const append = [systemPrompt.append, text].filter((part) => part !== undefined).join('\n\n');
  return { systemPrompt: { ...systemPrompt, append } };
}

const number =
  (name: 'maxTurns' | 'maxBudgetUsd' | 'maxThinkingTokens'): Translate =>
  (value) => {
    if (value.trim() === '' || !Number.isFinite(Number(value))) throw new Error('it is no number');
    return { [name]: Number(value) };
  };

const servers = z.looseObject({ mcpServers: z.record(z.string(), z.looseObject({})) });

function withServers(value: string, { mcpServers }: Options): Options {
  const text = value.trimStart().startsWith('{') || !existsSync(value) ? value : readFileSync(value, 'utf8');
  const given = servers.parse(JSON.parse(text)).mcpServers as NonNullable<Options['mcpServers']>;
  return { mcpServers: { ...mcpServers, ...given } };
}

const schema = z.record(z.string(), z.unknown());
const allowed: Translate = (value, { allowedTools = [] }) => ({ allowedTools: [...allowedTools, ...list(value)] });
const disallowed: Translate = (value, { disallowedTools = [] }) => ({
  disallowedTools: [...disallowedTools, ...list(value)],
});

const TRANSLATED: Readonly<Record<string, Translate>> = {
  'json-schema': (value) => ({ outputFormat: { type: 'json_schema', schema: schema.parse(JSON.parse(value)) } }),
  'mcp-config': withServers,
  allowedTools: allowed,
  'allowed-tools': allowed,
  disallowedTools: disallowed,
  'disallowed-tools': disallowed,
  tools: (value) => ({ tools: list(value) }),
  'add-dir': (value, { additionalDirectories = [] }) => ({ additionalDirectories: [...additionalDirectories, value] }),
  'append-system-prompt': (value, options) => appended(options, value),
  'system-prompt': (value) => ({ systemPrompt: value }),
  model: (value) => ({ model: value }),
  'fallback-model': (value) => ({ fallbackModel: value }),
  'max-turns': number('maxTurns'),
  'max-budget-usd': number('maxBudgetUsd'),
  'max-thinking-tokens': number('maxThinkingTokens'),
  // Another mode, or effort, than there is, is refused with the options.
  'permission-mode': (value) => ({ permissionMode: value as NonNullable<Options['permissionMode']> }),
  effort: (value) => ({ effort: value as NonNullable<Options['effort']> }),
  'session-id': (value) => ({ sessionId: value }),
  resume: (value) => ({ resume: value }),
  'setting-sources': (value) => ({ settingSources: list(value) as NonNullable<Options['settingSources']> }),
};

/** Say how a process prints, logs and reads, or what is off without being asked for. */
const HARMLESS: readonly string[] = [
  'debug',
  'debug-file',
  'debug-to-stderr',
  'verbose',
  'print',
  'output-format',
  'input-format',
  'replay-user-messages',
  'include-partial-messages',
  'strict-mcp-config',
  'no-chrome',
];

/** Options with those that its `extraArgs` stand for. Throws ClientProblem `refused`. */
export function withExtraArgs(options: Options, say: (line: string) => void): Options {
  const { extraArgs = {}, ...others } = options;
  let all: Options = others;
  for (const [name, value] of Object.entries(extraArgs)) {
    if (HARMLESS.includes(name)) say(`the argument --${name} of extraArgs is passed over: no other process is started`);
    else all = { ...all, ...translated(name, value ?? '', all) };
  }
  return all;
}

function translated(name: string, value: string, options: Options): Options {
  const refuse = (why: string, cause?: unknown) =>
    new ClientProblem(
      'refused',
      `the argument ${JSON.stringify(`--${name.slice(0, 60)}`)} of extraArgs is refused: ${why}`,
      {
        cause,
      },
    );
  const translate = Object.hasOwn(TRANSLATED, name) ? TRANSLATED[name] : undefined;
  if (!translate) throw refuse('no other process is started: give the option of query() that does it');
  try {
    return translate(value, options);
  } catch (error) {
    throw refuse(reasonOf(error), error);
  }
}
