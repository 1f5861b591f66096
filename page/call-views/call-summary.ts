// A waiting call in one line: which kind of tool it is, what it would do, and what is worth a look.
// Pure, for the inbox, the transcript and the bar of decisions.
import { createHash } from 'node:crypto';
import { formatCount } from '../../client/faces/basics.ts';
import { parseQuestion } from '../../client/faces/words.ts';
import type { IconName } from '../primitives.tsx';
import { asRecord, readWanted } from './file-change.ts';
import { judgeCommand } from './risky-commands.ts';

type CallKind = 'edit' | 'write' | 'command' | 'fetch' | 'question' | 'tasks' | 'agent' | 'server' | 'other';

export type CallSummary = {
  readonly kind: CallKind;
  readonly icon: IconName;
  /** The tool as people read it: `tracker` for `mcp__tracker__create_issue`. */
  readonly tool: string;
  readonly what: string;
  /** Says in a few words what is worth a look before it is allowed. */
  readonly risk?: string;
};

type SeenCall = { readonly tool: string; readonly input: unknown; readonly question?: unknown };

const ICONS: Readonly<Record<CallKind, IconName>> = {
  edit: 'edit',
  write: 'file',
  command: 'shell',
  fetch: 'web',
  question: 'question',
  tasks: 'sessions',
  agent: 'workers',
  server: 'tool',
  other: 'tool',
};

export function summarizeCall(call: SeenCall): CallSummary {
  const kind = callKindOf(call);
  return { kind, icon: ICONS[kind], ...describeCall(kind, call) };
}

export function callKindOf({ tool, input, question }: SeenCall): CallKind {
  if (question) return 'question';
  const fields = asRecord(input);
  const name = tool.toLowerCase();
  if (readWanted(tool, input)) return name === 'write' ? 'write' : 'edit';
  if (name === 'bash' && typeof fields['command'] === 'string') return 'command';
  if ((name === 'web_fetch' || name === 'webfetch') && typeof fields['url'] === 'string') return 'fetch';
  if (name === 'todo' && Array.isArray(fields['tasks'])) return 'tasks';
  if (name === 'agent' && typeof fields['prompt'] === 'string') return 'agent';
  if (name === 'askuserquestion' || name === 'ask_user') return 'question';
  return tool.startsWith('mcp__') ? 'server' : 'other';
}

function describeCall(kind: CallKind, { tool, input }: SeenCall): Pick<CallSummary, 'tool' | 'what' | 'risk'> {
  const fields = asRecord(input);
  switch (kind) {
    case 'edit':
    case 'write': {
      const { path = '', content, replacements = [] } = readWanted(tool, input) ?? {};
      const lines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length);
      if (content !== undefined) return { tool, what: `${path} ${formatCount(lines(content), 'line')}` };
      const sum = (side: 'before' | 'after'): number => replacements.reduce((all, one) => all + lines(one[side]), 0);
      return { tool, what: `${path} +${sum('after')} −${sum('before')}` };
    }
    case 'command': {
      const command = String(fields['command']);
      const [first = '', ...rest] = command.trim().split('\n');
      const [risk] = judgeCommand(command).says;
      const more = rest.length === 0 ? '' : ` … ${formatCount(rest.length + 1, 'line')}`;
      return { tool, what: `${first}${more}`, ...(risk !== undefined && { risk }) };
    }
    case 'fetch':
      return { tool, what: String(fields['url']).replace(/^https?:\/\//, '') };
    case 'question':
      return { tool: 'asks', what: parseQuestion(input).question };
    case 'tasks':
      return { tool, what: formatCount((fields['tasks'] as readonly unknown[]).length, 'task') };
    case 'agent':
      return { tool, what: firstText(fields, ['title', 'description', 'prompt']) };
    case 'server': {
      const [, server = tool, ...name] = tool.split('__');
      return { tool: server, what: [name.join('__'), fieldsText(fields)].filter(Boolean).join(' ') };
    }
    case 'other':
      return { tool, what: fieldsText(fields) };
  }
}

/** Returns the first text among these fields. */
function firstText(fields: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  const found = names.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? firstLine(found) : '';
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? '';

/** Fields that name where something goes. */
const TARGETS = /^(?:to|target|dest|destination|env|environment|stage|region|branch)$/i;
/** Words of the model about the call decide nothing. */
const ABOUT = /^(?:description|reason|explanation)$/i;
const MOST_VALUE = 60;

/**
 * Writes what a call of an unknown tool is about: its first text, where that goes, and all other
 * plain values by name, as in `pricing → production, canary 10`.
 */
function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  const plain = Object.entries(fields).flatMap(([name, value]): readonly (readonly [string, string])[] =>
    ['string', 'number', 'boolean'].includes(typeof value) && value !== ''
      ? [[name, firstLine(String(value))]]
      : Array.isArray(value) || (typeof value === 'object' && value !== null)
        ? [[name, JSON.stringify(value)]]
        : [],
  );
  const details = plain.filter(([name]) => !ABOUT.test(name));
  const [first, ...rest] = details.length > 0 ? details : plain;
  if (!first) return '';
  const shorten = (text: string): string => (text.length > MOST_VALUE ? `${text.slice(0, MOST_VALUE)}…` : text);
  const target = TARGETS.test(first[0]) ? undefined : rest.find(([name]) => TARGETS.test(name));
  const others = rest.filter((one) => one !== target).map(([name, value]) => `${name} ${shorten(value)}`);
  const head = target === undefined ? first[1] : `${shorten(first[1])} → ${shorten(target[1])}`;
  return [head, ...others].join(', ');
}

/**
 * Names what makes calls alike: the same change to a file of the same name, the same command, the
 * same address, or the same tool with the same input. Questions are never alike.
 */
export function alikeKey({ tool, input, question }: SeenCall): string | null {
  if (question) return null;
  const wanted = readWanted(tool, input);
  const { url } = asRecord(input);
  const name = tool.toLowerCase();
  const same = wanted
    ? [wanted.path.split('/').at(-1), wanted.replacements, wanted.content]
    : name === 'web_fetch' && typeof url === 'string' && URL.canParse(url)
      ? new URL(url).href
      : input;
  return createHash('sha256')
    .update(JSON.stringify([name, same]) ?? '')
    .digest('base64url')
    .slice(0, 16);
}
