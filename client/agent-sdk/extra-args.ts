// Translates `extraArgs`, the arguments for the process of an in-process agent. No such process is
// started here: an argument becomes the option that it stands for, a harmless one is passed over,
// and any other is refused.
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { reasonOf } from '../../system/text.ts';
import { ClientProblem } from '../faces/start.ts';
import type { Options } from './shapes/options.ts';

type Translate = (value: string, options: Options) => Options;

const splitList = (value: string): string[] => {
  const parts = value.match(/[^,\s(]+(?:\([^)]*\))?/g) ?? [];
  return parts.filter((part) => part !== '');
};

/** Adds a text after the system prompt that the options have. */
function appendPrompt({ systemPrompt }: Options, text: string): Options {
  if (systemPrompt === undefined) return { systemPrompt: { type: 'preset', preset: 'claude_code', append: text } };
  if (typeof systemPrompt === 'string') return { systemPrompt: [systemPrompt, text] };
  if (Array.isArray(systemPrompt)) return { systemPrompt: [...systemPrompt, text] };
  if (systemPrompt.type === 'custom') return appendPrompt({ systemPrompt: systemPrompt.prompt }, text);
  const append = [systemPrompt.append, text].filter((part) => part !== undefined).join('\n\n');
  return { systemPrompt: { ...systemPrompt, append } };
}

const toNumberOption =
  (name: 'maxTurns' | 'maxBudgetUsd' | 'maxThinkingTokens'): Translate =>
  (value) => {
    if (value.trim() === '' || !Number.isFinite(Number(value))) throw new Error('it is no number');
    return { [name]: Number(value) };
  };

const mcpConfigSchema = z.looseObject({ mcpServers: z.record(z.string(), z.looseObject({})) });

function withServers(value: string, { mcpServers }: Options): Options {
  const text = value.trimStart().startsWith('{') || !existsSync(value) ? value : readFileSync(value, 'utf8');
  const servers = mcpConfigSchema.parse(JSON.parse(text)).mcpServers as NonNullable<Options['mcpServers']>;
  return { mcpServers: { ...mcpServers, ...servers } };
}

const outputSchema = z.record(z.string(), z.unknown());
const addAllowedTools: Translate = (value, { allowedTools = [] }) => ({
  allowedTools: [...allowedTools, ...splitList(value)],
});
const addDisallowedTools: Translate = (value, { disallowedTools = [] }) => ({
  disallowedTools: [...disallowedTools, ...splitList(value)],
});

const TRANSLATIONS: Readonly<Record<string, Translate>> = {
  'json-schema': (value) => ({ outputFormat: { type: 'json_schema', schema: outputSchema.parse(JSON.parse(value)) } }),
  'mcp-config': withServers,
  allowedTools: addAllowedTools,
  'allowed-tools': addAllowedTools,
  disallowedTools: addDisallowedTools,
  'disallowed-tools': addDisallowedTools,
  tools: (value) => ({ tools: splitList(value) }),
  'add-dir': (value, { additionalDirectories = [] }) => ({ additionalDirectories: [...additionalDirectories, value] }),
  'append-system-prompt': (value, options) => appendPrompt(options, value),
  'system-prompt': (value) => ({ systemPrompt: value }),
  model: (value) => ({ model: value }),
  'fallback-model': (value) => ({ fallbackModel: value }),
  'max-turns': toNumberOption('maxTurns'),
  'max-budget-usd': toNumberOption('maxBudgetUsd'),
  'max-thinking-tokens': toNumberOption('maxThinkingTokens'),
  // An unknown mode or effort is refused later, with the options.
  'permission-mode': (value) => ({ permissionMode: value as NonNullable<Options['permissionMode']> }),
  effort: (value) => ({ effort: value as NonNullable<Options['effort']> }),
  'session-id': (value) => ({ sessionId: value }),
  resume: (value) => ({ resume: value }),
  settings: (value) => ({ settings: value }),
  'setting-sources': (value) => ({ settingSources: splitList(value) as NonNullable<Options['settingSources']> }),
};

/** These say how a process prints, logs and reads, or turn off what is off anyway. */
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

/** Merges the options that `extraArgs` stand for. Throws ClientProblem `refused`. */
export function withExtraArgs(options: Options, say: (line: string) => void): Options {
  const { extraArgs = {}, ...others } = options;
  let all: Options = others;
  for (const [name, value] of Object.entries(extraArgs)) {
    if (HARMLESS.includes(name)) say(`the argument --${name} of extraArgs is passed over: no other process is started`);
    else all = { ...all, ...translateArgument(name, value ?? '', all) };
  }
  return all;
}

function translateArgument(name: string, value: string, options: Options): Options {
  const refuse = (why: string, cause?: unknown) =>
    new ClientProblem(
      'refused',
      `the argument ${JSON.stringify(`--${name.slice(0, 60)}`)} of extraArgs is refused: ${why}`,
      {
        cause,
      },
    );
  const translate = Object.hasOwn(TRANSLATIONS, name) ? TRANSLATIONS[name] : undefined;
  if (!translate) throw refuse('no other process is started: give the option of query() that does it');
  try {
    return translate(value, options);
  } catch (error) {
    throw refuse(reasonOf(error), error);
  }
}
